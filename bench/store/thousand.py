"""A thousand nodes into one store in real time, while the most expensive query runs repeatedly.

python bench/store/thousand.py --nodes 1000 --hours 3

First the history is loaded at full speed, then one minute in real time. Then the process is killed, and a
real server starts on its data.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import free_port, machine, running, wait_for  # noqa: E402
from bench.store.fleet import SERIES, Node  # noqa: E402
from bench.store.queries import HOUR, NINE, Watch, ask  # noqa: E402
from vigie.model import Frame  # noqa: E402
from vigie.server.api.prometheus.queries import QueryRequest, run_query  # noqa: E402
from vigie.server.maintenance import GcFreezer  # noqa: E402
from vigie.server.query_executor import QueryExecutor  # noqa: E402
from vigie.store.store import Store  # noqa: E402

INTERVAL = 10_000
KINDS = 50  # nodes whose numbers differ; the others repeat them
LIVE = 7  # steps that are ready before the clock runs


class Fleet:
    """Nodes that share the numbers of a few, so that making them costs little."""

    def __init__(self, nodes: int, hours: float) -> None:
        self.nodes = [Node(number) for number in range(nodes)]
        self.loaded = int(hours * 3_600_000) // INTERVAL
        self.start = int(time.time() * 1000) - self.loaded * INTERVAL

    def steps(self, first: int, count: int) -> Iterator[list[tuple[dict[str, str], Frame]]]:
        """Yield, step by step, a frame of every node."""
        values = [node.values(count).tolist() for node in self.nodes[:KINDS]]
        for step in range(count):
            yield [
                (node.labels, _frame(node, self._time(first + step, i), values[i % KINDS][step]))
                for i, node in enumerate(self.nodes)
            ]

    def _time(self, step: int, node: int) -> int:
        return self.start + step * INTERVAL + node * INTERVAL // len(self.nodes)


def _frame(node: Node, time_ms: int, numbers: list[float]) -> Frame:
    return Frame(time_ms, tuple((table, tuple(numbers[first:last])) for table, first, last in node.tables))


def inside(directory: Path, nodes: int, hours: float) -> None:
    """Load, run a minute by the clock, and die."""
    fleet, store = Fleet(nodes, hours), Store(directory / "store")
    load(fleet, store)
    ready = list(fleet.steps(fleet.loaded, LIVE))
    print(f"memory   {_rss():8.0f} MB resident after the load, the bench's own frames included", flush=True)
    GcFreezer().look()  # as a server does
    asyncio.run(by_the_clock(fleet, store, ready))
    os.kill(os.getpid(), signal.SIGKILL)


def take(fleet: Fleet, store: Store, first: int) -> tuple[float, float]:
    """Take what there is to load from a step on; return the seconds, and those of the processor."""
    spent = used = 0.0
    for at in range(first, fleet.loaded, LIVE):
        print(f"loaded {at} of {fleet.loaded} steps", file=sys.stderr, flush=True)
        for step in fleet.steps(at, min(LIVE, fleet.loaded - at)):
            begin, cpu = time.perf_counter(), time.process_time()
            for labels, frame in step:
                store.append(labels, frame)
            store.sync()
            store.maintain(step[-1][1].time_ms)
            spent, used = spent + time.perf_counter() - begin, used + time.process_time() - cpu
    return spent, used


def load(fleet: Fleet, store: Store) -> None:
    """Take the hours as fast as it goes."""
    spent, used = take(fleet, store, 0)
    samples = len(fleet.nodes) * SERIES * fleet.loaded
    blocks, log = store.bytes_on_disk()
    print(f"loaded   {samples / 1e6:8.0f} M samples, {samples / spent / 1e6:.2f} M a second", flush=True)
    print(f"CPU      {used / samples * len(fleet.nodes) * SERIES / (INTERVAL / 1000) * 100:8.1f} % of a core")
    print(
        f"disk     {blocks / samples:8.2f} B a sample in blocks and rollups, and {log / 1e6:.0f} MB of log",
        flush=True,
    )


async def by_the_clock(fleet: Fleet, store: Store, ready: list[list[tuple[dict[str, str], Frame]]]) -> None:
    """Take frames when they are due, ask all the while, and print how long each had to wait."""
    readers, over = QueryExecutor(store), threading.Event()
    ingest = Ingest(store, [pair for step in ready for pair in step], INTERVAL / len(fleet.nodes) / 1000)
    upkeep = threading.Thread(target=_maintenance, args=(store, over, ready[0][0][1].time_ms))
    cpu, begin = time.process_time(), time.monotonic()
    upkeep.start()
    ingest.start()
    took: list[float] = []
    while ingest.is_alive():
        end = ready[0][0][1].time_ms + int((time.monotonic() - begin) * 1000)
        asked = time.perf_counter()
        question = QueryRequest(NINE[0].query, end - HOUR * 1000, end, 60_000)
        await readers.ask(partial(run_query, question, False))
        took.append(time.perf_counter() - asked)
    seconds = time.monotonic() - begin
    used = time.process_time() - cpu
    over.set()
    upkeep.join()
    readers.close()
    print(
        f"live     {used / seconds * 100:8.1f} % of a core over {seconds:.0f} s, children aside (budget 25)"
    )
    print(f"question {np.median(took):8.2f} s, asked {len(took)} times")
    print(f"append   {_quantile(ingest.appends):s} (budget: p99 under 50 ms)")
    print(f"ack      {_quantile(ingest.acks):s} (budget: p99 under 1500 ms)", flush=True)


class Ingest(threading.Thread):
    """Appends each frame when it is due, and syncs once a second."""

    def __init__(self, store: Store, frames: list[tuple[dict[str, str], Frame]], spacing: float) -> None:
        super().__init__()
        self._store, self._frames, self._spacing = store, frames, spacing
        self.appends: list[float] = []
        self.acks: list[float] = []

    def run(self) -> None:
        """Take them all."""
        begin = synced = time.monotonic()
        waiting: list[float] = []
        for number, (labels, frame) in enumerate(self._frames):
            due = begin + number * self._spacing
            if (early := due - time.monotonic()) > 0:
                time.sleep(early)
            self._store.append(labels, frame)
            now = time.monotonic()
            self.appends.append(now - due)
            waiting.append(due)
            if now - synced >= 1:
                self._store.sync()
                synced = time.monotonic()
                self.acks += [synced - due for due in waiting]
                waiting.clear()


def _maintenance(store: Store, over: threading.Event, start: int) -> None:
    begin = time.monotonic()
    while not over.wait(10):
        store.maintain(start + int((time.monotonic() - begin) * 1000))


def _quantile(seconds: list[float]) -> str:
    median, p99, limit = (np.quantile(seconds, q) * 1000 for q in (0.5, 0.99, 1.0))
    return f"{median:8.1f} ms median, {p99:.1f} ms p99, {limit:.1f} ms at most"


def _rss() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def restart(directory: Path, hours: float) -> None:
    """Start a server on what the killed process left, and ask the nine."""
    port, begin = free_port(), time.perf_counter()
    command = [sys.executable, "-m", "vigie", "server", f"--listen=127.0.0.1:{port}", f"--data={directory}"]
    with running(command, port, "/", patience=900) as program:
        wait_for(port, "/-/ready")
        print(f"restart  {time.perf_counter() - begin:8.1f} s until ready after kill -9 (budget 30)")
        print(f"memory   {program.pss():8.0f} MB then", flush=True)
        end = int(time.time())
        with Watch(program) as watch:
            for question in NINE:
                took = ask(port, question, end, hours, 1)
                print(f"         {took.warm:8.0f} ms  {question.name}, {took.points} points", flush=True)
        print(f"memory   {watch.peak:8.0f} MB at most while asking, all processes (budget 2500)", flush=True)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--nodes", type=int, default=1000)
    arguments.add_argument("--hours", type=float, default=3)
    arguments.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.inside:
        inside(given.inside, given.nodes, given.hours)
        return
    size = f"{given.nodes} nodes x {SERIES} series every 10 s, {given.hours:g} h"
    print(f"Measured {machine()}.\n{size}.\n", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        flags = [f"--nodes={given.nodes}", f"--hours={given.hours}"]
        subprocess.run([sys.executable, __file__, "--inside", directory, *flags], check=False)
        restart(Path(directory), given.hours)


if __name__ == "__main__":
    main()
