"""Snapshots of a large cluster: the queries of the cluster page, where no two nodes share series.

python bench/store/snapshots.py --nodes 1000

Every GPU has its own labels, so that nodes share nothing. The queries run on a store that was just opened,
with the samples in its log, then on one with all of them in blocks.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import machine  # noqa: E402
from bench.store.fleet import Node, Part, parts_of  # noqa: E402
from vigie.model import Frame, gauge  # noqa: E402
from vigie.server.pages.queries import GPU_QUERIES, NODE_QUERIES, PLAIN  # noqa: E402
from vigie.server.pages.query_batch import LocalRunner  # noqa: E402
from vigie.server.query_executor import QueryExecutor  # noqa: E402
from vigie.store.store import Store  # noqa: E402

MINUTES, STEP_MS = 11, 30_000
TABLES = ("cpu", "dcgm", "netdev")  # of what a node of the fleet has
PATIENCE = 600.0  # seconds
ROUNDS = 3
MOMENTS = ("opened just now", "then", "after that")


class Took(NamedTuple):
    """What a picture cost, and how many lines the answers have."""

    seconds: float
    cpu: float
    lines: int


def parts(node: int) -> list[Part]:
    """Return what a node has: most of a node of the fleet, and what the agent says of its GPUs."""
    gpus = [(str(gpu), f"GPU-{node:04d}-{gpu}") for gpu in range(8)]
    whose = [
        (gauge(name, "A number.", "gpu", "uuid"), gpu) for name in (*PLAIN, "vigie_gpu_info") for gpu in gpus
    ]
    reasons = [
        (gauge("vigie_gpu_throttled", "A reason.", "gpu", "uuid", "reason"), (*gpu, reason))
        for gpu in gpus
        for reason in ("power", "heat", "slowdown", "sync")
    ]
    memory = [
        (gauge(f"node_memory_{name}_bytes", "Bytes.", "node"), (f"{node}",))
        for name in ("MemAvailable", "MemTotal")
    ]
    return [
        *(part for part in parts_of(node) if part.table in TABLES),
        Part("gpu", "percent", tuple(whose)),
        Part("throttled", "percent", tuple(reasons)),
        Part("meminfo", "memory", tuple(memory)),
        Part("up", "constant", ((gauge("up", "Whether it answers."), ()),)),
    ]


def fill(directory: Path, count: int, end: int) -> int:
    """Take some minutes of every node, and return how many samples that were."""
    steps = MINUTES * 60_000 // STEP_MS
    samples = 0
    with Store(directory) as store:
        for number in range(count):
            node = Node(number, parts(number))
            samples += steps * len(node.series)
            for frame in _frames(node, steps, end - number):
                store.append(node.labels, frame)
            if number % 100 == 99:
                store.sync()
                print(f"{number + 1} nodes loaded", flush=True)
        store.sync()
    return samples


def _frames(node: Node, steps: int, end: int) -> Iterator[Frame]:
    for step, numbers in enumerate(node.values(steps).tolist(), 1):
        values = tuple((table, tuple(numbers[first:last])) for table, first, last in node.tables)
        yield Frame(end - (steps - step) * STEP_MS, values)


def pictures(directory: Path, at: int) -> list[Took]:
    """Open the store, and ask a few times over."""
    with Store(directory) as store:
        return asyncio.run(_asked(store, at))


async def _asked(store: Store, at: int) -> list[Took]:
    readers, took = QueryExecutor(store), []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        found = await LocalRunner(readers).run(GPU_QUERIES | NODE_QUERIES, at, PATIENCE)
        lines = sum(map(len, found.rows.values()))
        took.append(Took(time.perf_counter() - wall, time.process_time() - cpu, lines))
        if found.errors:
            raise SystemExit(f"not answered: {found.errors}")
    readers.close()
    return took


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--nodes", type=int, default=1000)
    given = arguments.parse_args()
    print(f"Measured {machine()}.", flush=True)
    with tempfile.TemporaryDirectory() as name:
        directory, end = Path(name), int(time.time() * 1000)
        samples = fill(directory, given.nodes, end)
        print(f"{given.nodes} nodes, {samples / 1e6:.1f} M samples.\n", flush=True)
        report("in the log", pictures(directory, end))
        with Store(directory) as store:
            store.flush()
        report("in blocks", pictures(directory, end))


def report(where: str, took: list[Took]) -> None:
    """Print what the pictures cost."""
    for when, each in zip(MOMENTS, took, strict=True):
        print(
            f"{where:10s} {when:16s} {each.seconds:7.2f} s, {each.cpu:7.2f} s of CPU, {each.lines} lines",
            flush=True,
        )


if __name__ == "__main__":
    main()
