"""Ingest into the embedded store: speed, CPU, bytes on disk, memory, beside the budgets of the design.

python bench/store/ingest.py --nodes 50 --steps 240
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import machine  # noqa: E402
from bench.store.workload import SERIES, Node  # noqa: E402
from vigie.model import Frame  # noqa: E402
from vigie.query.storage import Matcher  # noqa: E402
from vigie.store.store import Store  # noqa: E402

START = 1_700_000_000_000
BATCH = 2  # steps made ready at a time, outside the measured part


class Cost(NamedTuple):
    """What something took."""

    seconds: float
    cpu: float


class Meter:
    """Adds up wall and CPU time of what runs inside."""

    def __init__(self) -> None:
        self.cost = Cost(0.0, 0.0)

    def __call__(self, work: Callable[[], object]) -> None:
        """Run it and count it."""
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.cost = Cost(self.cost.seconds + wall, self.cost.cpu + cpu)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=50)
    arguments.add_argument("--series", type=int, default=SERIES)
    arguments.add_argument("--steps", type=int, default=240)
    arguments.add_argument("--interval", type=int, default=10, help="seconds between frames")
    arguments.add_argument("--directory", type=Path, help="where to store; a temporary one otherwise")
    given = arguments.parse_args()
    print(f"Measured {machine()}: {given.nodes} nodes x {given.series} series x {given.steps} steps.\n")
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        run(Path(directory), given.nodes, given.series, given.steps, given.interval * 1000)


def run(directory: Path, nodes: int, series: int, steps: int, interval: int) -> None:
    """Ingest, open anew, flush, ask."""
    store = Store(directory)
    made = [Node(number, series, steps) for number in range(nodes)]
    gc.collect()
    before, samples = rss(), nodes * series * steps
    ingest = feed(store, made, steps, interval)
    gc.collect()
    grown = rss() - before
    logged = sum(store.bytes_on_disk())
    store.close()
    opening, flush, reopened = Meter(), Meter(), list[Store]()
    opening(lambda: reopened.append(Store(directory)))
    store = reopened[0]
    flush(store.flush)
    blocks = store.bytes_on_disk()[0]
    core = (ingest.cost.cpu + flush.cost.cpu) / samples * 1000 * series / (interval / 1000)
    print(f"ingest   {samples / ingest.cost.seconds / 1e6:8.2f} M samples/s, a sync each step included")
    print(f"CPU      {per(ingest, samples):8.3f} us a sample, and {per(flush, samples):.3f} us to flush it")
    print(f"         {core * 100:8.1f} % of a core for 1000 nodes (budget of the whole server: 25 %)")
    print(f"log      {logged / samples:8.2f} B a sample, with the blocks written so far")
    print(f"blocks   {blocks / samples:8.2f} B a sample after flushing (budget 1.1)")
    print(f"RSS      {grown:8.0f} MB more than before: {grown * 1e6 / nodes / series:.0f} B a series")
    print(f"replay   {samples / opening.cost.seconds / 1e6:8.2f} M samples/s on opening\n")
    ask(store, START + steps * interval)
    print(f"checksums wrong: {len(store.check())}")
    store.close()


def feed(store: Store, nodes: list[Node], steps: int, interval: int) -> Meter:
    """Append and sync step by step; making the frames is not counted."""
    meter = Meter()
    sources = [(node.labels, node.frames(START, interval)) for node in nodes]
    for first in range(0, steps, BATCH):
        numbers = range(first, min(first + BATCH, steps))
        ready = [[(labels, next(frames)) for labels, frames in sources] for _ in numbers]
        for number, step in zip(numbers, ready, strict=True):
            meter(partial(append, store, step))
            if number % 2 == 1:
                meter(partial(store.maintain, START + number * interval))
    return meter


def append(store: Store, step: list[tuple[dict[str, str], Frame]]) -> None:
    """Append one frame of every node, then sync."""
    for labels, frame in step:
        store.append(labels, frame)
    store.sync()


def ask(store: Store, end: int) -> None:
    """Print what a few questions take."""
    name = [Matcher("__name__", "=", "cpu_0_total")]
    questions: dict[str, Callable[[], object]] = {
        "select of one metric of all nodes": lambda: store.select(name, 0, end),
        "label values of instance": lambda: store.label_values("instance", [], 0, end),
        "label names": lambda: store.label_names([], 0, end),
        "series of one metric": lambda: store.series(name, 0, end),
    }
    for what, question in questions.items():
        meter = Meter()
        meter(question)
        print(f"{what:40s}{meter.cost.seconds * 1000:8.1f} ms")


def per(meter: Meter, samples: int) -> float:
    """Return the CPU microseconds a sample."""
    return meter.cost.cpu / samples * 1e6


def rss() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
