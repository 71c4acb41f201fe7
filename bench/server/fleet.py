"""Many exporters, each with 1500 samples every 10 s: our scraper beside Prometheus, one after the other.

python bench/server/fleet.py --targets 300 --seconds 20
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import Program, free_port, machine, running  # noqa: E402
from bench.server.scrape import exporting  # noqa: E402
from vigie.server.api.prometheus.queries import now_ms  # noqa: E402
from vigie.server.scrape.config import ScrapeConfig  # noqa: E402
from vigie.server.scrape.discovery import Discovery, yaml  # noqa: E402
from vigie.server.scrape.scraper import Scraper  # noqa: E402
from vigie.server.scrape.target import target_of  # noqa: E402
from vigie.server.scrape.target_store import TargetStore  # noqa: E402
from vigie.store.store import Store  # noqa: E402

WARM_SECONDS = 14.0  # until each has been scraped once
AGE_MS = 15 * 86_400_000


def ours(targets: TargetStore, home: Path, seconds: float) -> str:
    """Return what scraping into our store costs."""
    with Store(home / "store") as store:
        scraper = Scraper(targets, store, ScrapeConfig(), now_ms, AGE_MS)
        time.sleep(WARM_SECONDS)
        begun, cpu = time.perf_counter(), time.process_time()
        time.sleep(seconds)
        share = (time.process_time() - cpu) / (time.perf_counter() - begun)
        up = sum(state.health == "up" for state in scraper.states().values())
        scraper.close()
    memory = Program(os.getpid(), 0, "/").rss()
    return f"vigie       {share:6.1%} of a core, {memory:5.0f} MB, {up} of {len(targets.all())} up"


def prometheus(program: str, targets: TargetStore, home: Path, seconds: float) -> str:
    """Return what the same costs a Prometheus."""
    (home / "targets.yaml").write_text(yaml(Discovery(targets.all).entries()))
    config = home / "prometheus.yml"
    job = f"{{job_name: bench, file_sd_configs: [{{files: ['{home}/targets.yaml']}}]}}"
    config.write_text(f"global: {{scrape_interval: 10s}}\nscrape_configs: [{job}]\n")
    port = free_port()
    command = [program, f"--config.file={config}", f"--storage.tsdb.path={home}/data"]
    with running([*command, f"--web.listen-address=127.0.0.1:{port}"], port, "/metrics") as peer:
        time.sleep(WARM_SECONDS)
        begun, cpu = time.perf_counter(), peer.cpu()
        time.sleep(seconds)
        share = (peer.cpu() - cpu) / (time.perf_counter() - begun)
        return f"Prometheus  {share:6.1%} of a core, {peer.rss():5.0f} MB"


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    print(machine())
    with exporting(packed=True) as port, tempfile.TemporaryDirectory() as directory:
        targets = TargetStore(Path(directory) / "targets.sqlite")
        targets.add(
            target_of(f"127.0.0.1:{port}", {"job": "b", "instance": f"n{i}", "__metrics_path__": f"/{i}"})
            for i in range(arguments.targets)
        )
        print(ours(targets, Path(directory), arguments.seconds))
        program = shutil.which("prometheus")
        if program:
            print(prometheus(program, targets, Path(directory), arguments.seconds))
        targets.close()


if __name__ == "__main__":
    main()
