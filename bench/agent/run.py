"""The agent beside Debian's prometheus-node-exporter: same machine, same collectors, one run.

make bench              prints the tables
python bench/agent/run.py --quick
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.expositions import parse  # noqa: E402
from tests.machines import unpacked  # noqa: E402

from bench.programs import Program, free_port, machine, running  # noqa: E402
from vigie.sources.core.registry import find_sources  # noqa: E402

ROUNDS = 4  # the two take turns, so that both meet the same weather


class Cost(NamedTuple):
    """What scrapes of one exporter cost."""

    cpu_ms: float
    wall_ms: float
    rss_mb: float
    series: int
    gzipped: int


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--quick", action="store_true", help="40 scrapes instead of 200, 20 s instead of 60"
    )
    quick = arguments.parse_args().quick
    scrapes = 40 if quick else 200
    print(f"Measured {machine()}.\n")
    print(f"### This machine, {scrapes} scrapes each\n")
    compare([], [], scrapes)
    with tempfile.TemporaryDirectory() as directory:
        top = unpacked("epyc-128", Path(directory))
        print(f"\n### The recorded machine with 128 cores, {scrapes} scrapes each\n")
        theirs = [f"--path.procfs={top}/proc", f"--path.sysfs={top}/sys", f"--path.rootfs={top}/root"]
        theirs += [f"--path.udev.data={top}/root/run/udev/data"]
        ours = [f"--procfs={top}/proc", f"--sysfs={top}/sys", f"--rootfs={top}/root"]
        compare(theirs, ours, scrapes)
    print("\n### All sources at their own cadence, nobody scraping\n")
    steady(20 if quick else 60)


def compare(their_roots: list[str], our_roots: list[str], scrapes: int) -> None:
    """Print what both cost with the collectors that both have."""
    both = shared_collectors()
    port, our_port = free_port(), free_port()
    exporter = [
        "prometheus-node-exporter",
        f"--web.listen-address=127.0.0.1:{port}",
        "--collector.disable-defaults",
        "--web.disable-exporter-metrics",
        *(f"--collector.{name}" for name in both),
        *their_roots,
    ]
    agent = [sys.executable, "-m", "vigie", "agent", f"--listen=127.0.0.1:{our_port}"]
    agent += ["--sources", ",".join(both), "--cadence=60", *our_roots]
    # ?fresh makes the agent read every source at every scrape, slow ones too.
    with running(exporter, port, "/metrics") as them, running(agent, our_port, "/metrics?fresh") as us:
        theirs = parse(them.scrape("identity").decode()).values
        common = theirs.keys() & parse(us.scrape("identity").decode()).values.keys()
        costs = measure([them, us], scrapes)
    their_cost, our_cost = costs
    print(f"{len(both)} collectors, {len(common)} series in common.\n")
    print("| a scrape | node exporter | vigie agent | vigie / node exporter |\n|---|---|---|---|")
    for name, form in (
        ("cpu_ms", "CPU ms"),
        ("wall_ms", "wall ms, median"),
        ("rss_mb", "RSS MB"),
        ("series", "series"),
        ("gzipped", "bytes, gzipped"),
    ):
        a, b = getattr(their_cost, name), getattr(our_cost, name)
        digits = 0 if isinstance(a, int) else 2
        print(f"| {form} | {a:.{digits}f} | {b:.{digits}f} | {b / a:.2f} |")


def shared_collectors() -> list[str]:
    """Return the collectors that are on by default in both."""
    asked = subprocess.run(
        ["prometheus-node-exporter", "--help"], capture_output=True, text=True, check=False
    )
    helped = " ".join((asked.stdout + asked.stderr).split())
    theirs = set(re.findall(r"--collector\.(\w+) Enable the \w+ collector \(default: enabled\)", helped))
    return [source.name for source in find_sources() if source.default and source.name in theirs]


def measure(programs: list[Program], scrapes: int) -> list[Cost]:
    """Return the cost of scraping each, in turns."""
    cpu = [0.0] * len(programs)
    wall: list[list[float]] = [[] for _ in programs]
    for program in programs:
        for _ in range(10):
            program.scrape()
    for _ in range(ROUNDS):
        for i, program in enumerate(programs):
            before = program.cpu()
            for _ in range(scrapes // ROUNDS):
                began = time.perf_counter()
                program.scrape()
                wall[i].append(time.perf_counter() - began)
            cpu[i] += program.cpu() - before
    return [
        Cost(
            cpu[i] / scrapes * 1e3,
            statistics.median(wall[i]) * 1e3,
            program.rss(),
            len(parse(program.scrape("identity").decode()).values),
            len(program.scrape()),
        )
        for i, program in enumerate(programs)
    ]


def steady(seconds: float) -> None:
    """Print what the agent costs by itself at a 5 s cadence, with frames made and written."""
    port = free_port()
    command = [sys.executable, "-m", "vigie", "agent", f"--listen=127.0.0.1:{port}", "--cadence=5"]
    command += ["--log-json=/dev/null"]
    with running(command, port, "/metrics") as us:
        us.scrape()
        before = us.cpu()
        time.sleep(seconds)
        share = (us.cpu() - before) / seconds
        print("| cadence | CPU, % of a core | RSS MB |\n|---|---|---|")
        print(f"| 5 s, over {seconds:g} s | {share * 100:.2f} | {us.rss():.1f} |")


if __name__ == "__main__":
    main()
