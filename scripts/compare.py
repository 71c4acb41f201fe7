"""Compare vigie's sources with Debian's prometheus-node-exporter, live or on a recorded machine.

python scripts/compare.py [MACHINE] [--only cpu,netdev] [--flags "--collector.interrupts"]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "src")]

from tests import machines
from tests.expositions import parse, spell
from vigie.agent.clock import SystemClock
from vigie.agent.collector import Collector
from vigie.agent.exposition import TEXT, Renderer
from vigie.agent.reading import Reading
from vigie.sources._host import Host
from vigie.sources._registry import find


def peer(paths: list[str], flags: list[str]) -> str:
    port = 19800 + int(time.time()) % 100
    process = subprocess.Popen(
        ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}", *paths, *flags],
        stderr=subprocess.PIPE,
    )
    try:
        for _ in range(100):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                    return answer.read().decode()
            except urllib.error.HTTPError as error:
                sys.exit(f"node exporter: {error} {error.read()[:2000].decode()}")
            except OSError:
                time.sleep(0.05)
        sys.exit("node exporter did not answer")
    finally:
        process.terminate()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("machine", nargs="?")
    arguments.add_argument("--only")
    arguments.add_argument("--flags", default="")
    options = arguments.parse_args()
    only = options.only.split(",") if options.only else None
    sources = [source for source in find() if not only or source.name in only]
    paths: list[str] = []
    if options.machine:
        directory = machines.unpacked(options.machine, Path(tempfile.mkdtemp()))
        collector = machines.collected(directory, sources)
        paths = [
            f"--path.procfs={directory}/proc",
            f"--path.sysfs={directory}/sys",
            f"--path.rootfs={directory}/root",
            f"--path.udev.data={directory}/root/run/udev/data",
            f"--collector.textfile.directory={directory}/root/textfiles",
        ]
    else:
        collector = Collector(
            [
                Reading(source, Host(options={o.name: o.default for o in source.options}), SystemClock())
                for source in sources
            ]
        )
        collector.refresh_now()
    if only:
        flags = ["--collector.disable-defaults", *(f"--collector.{name}" for name in only)]
    else:
        flags = []
    theirs = parse(peer(paths, flags + options.flags.split()))
    ours = parse(Renderer().render(collector.values(), TEXT))
    for reading in collector.readings:
        if reading.reason or reading.host.notes:
            print("#", reading.source.name, reading.outcome.value, reading.reason, reading.host.notes)
    skip = ("node_scrape_collector", "node_exporter_build_info")
    missing = [
        s
        for s in theirs.values
        if s[0].startswith("node_") and s not in ours.values and not s[0].startswith(skip)
    ]
    for series in sorted(missing, key=spell):
        print("MISSING", spell(series), theirs.values[series])
    for series in sorted(set(ours.values) - set(theirs.values), key=spell):
        print("EXTRA  ", spell(series), ours.values[series])
    for name in sorted(set(ours.kinds) & set(theirs.kinds)):
        if ours.kinds[name] != theirs.kinds[name]:
            print("KIND   ", name, "ours", ours.kinds[name], "theirs", theirs.kinds[name])
    for series in sorted(set(ours.values) & set(theirs.values), key=spell):
        a, b = ours.values[series], theirs.values[series]
        if a != b and abs(a - b) > 1e-9 * max(abs(a), abs(b)):
            print("VALUE  ", spell(series), "ours", a, "theirs", b)
    print(len(set(ours.values) & set(theirs.values)), "in common,", len(missing), "missing")


if __name__ == "__main__":
    main()
