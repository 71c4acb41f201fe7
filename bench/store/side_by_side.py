"""The embedded store beside Prometheus and VictoriaMetrics: the same samples, the same questions, one run.

python bench/store/side_by_side.py --nodes 50 --hours 6
python bench/store/side_by_side.py --nodes 200 --hours 6 --peers VictoriaMetrics
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import Program, free_port, machine, running, wait_for  # noqa: E402
from bench.store.fleet import INTERVAL, SERIES, Matrix, Node, Times  # noqa: E402
from bench.store.peers import PEERS, Peer, present  # noqa: E402
from bench.store.queries import NINE, Took, Watch, ask, geometric_mean  # noqa: E402
from bench.store.wire import Template, Writer  # noqa: E402
from vigie.store.store import Store  # noqa: E402

SLICE = 8  # steps that are sent at a time to a peer, as a sender that fell behind a little does
AHEAD = 240  # steps made at a time, outside the measured part
SETTLED = 15.0  # seconds from the last sample on
US = "vigie"


class Loaded(NamedTuple):
    """What taking the samples cost."""

    seconds: float
    cpu: float
    bytes_a_sample: float
    memory: float


class Fleet:
    """All nodes, and their samples some steps at a time."""

    def __init__(self, nodes: int, hours: float) -> None:
        self.nodes = [Node(number) for number in range(nodes)]
        self.steps = int(hours * 3_600_000) // INTERVAL
        self.start = int(time.time() * 1000) - self.steps * INTERVAL - INTERVAL
        self.end = (self.start + self.steps * INTERVAL) // 1000
        self.samples = nodes * SERIES * self.steps

    def slices(self) -> Iterator[list[tuple[Times, Matrix]]]:
        """Yield, for so many steps at a time, the times and values of every node."""
        for first in range(0, self.steps, AHEAD):
            steps = min(AHEAD, self.steps - first)
            print(f"loaded {first} of {self.steps} steps", file=sys.stderr, flush=True)
            yield [(node.times(self.start, first, steps), node.values(steps)) for node in self.nodes]


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=50)
    arguments.add_argument("--hours", type=float, default=6)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--restarts", type=int, default=3, help="how often each is started cold and asked")
    known = ",".join(peer.name for peer in PEERS)
    arguments.add_argument("--peers", default=known, help=f"which ones, with commas: {known}")
    arguments.add_argument("--directory", type=Path, help="where all store; a temporary one otherwise")
    given = arguments.parse_args()
    peers = [peer for peer in present() if peer.name in given.peers.split(",")]
    samples = Fleet(given.nodes, given.hours).samples
    print(f"Measured {machine()}.")
    size = f"{given.nodes} nodes x {SERIES} series, every 15 s for {given.hours:g} h"
    print(f"{size}: {samples / 1e6:.0f} M samples.\n", flush=True)
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        loads: dict[str, Loaded] = {}
        asked: dict[str, list[Took]] = {}
        peak: dict[str, float] = {}
        for name, measure in programs(peers).items():
            place = Path(directory) / name
            place.mkdir()
            loads[name], asked[name], peak[name] = measure(place, Fleet(given.nodes, given.hours), given)
            report_load(name, loads[name], samples, peak[name])
    print()
    report_questions(asked)


def programs(peers: list[Peer]) -> dict[str, Callable[..., tuple[Loaded, list[Took], float]]]:
    """Return how each is measured, ours first."""
    return {US: measure_ours, **{peer.name: Measured(peer) for peer in peers}}


class Measured:
    """Loads a peer over remote write, starts it again cold some times, and asks."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def __call__(
        self, place: Path, fleet: Fleet, given: argparse.Namespace
    ) -> tuple[Loaded, list[Took], float]:
        """Return what loading and asking cost."""
        with self._running(place) as (program, port):
            load = self._load(program, port, place, fleet)
            # VictoriaMetrics 1.79 that is stopped at once comes back without its newest minutes or its index.
            time.sleep(SETTLED)
            ask(port, NINE[0], fleet.end, given.hours, 1)
        took, peak = restarted(lambda: self._asked(place, fleet, given), given.restarts)
        return load, took, peak

    def _asked(self, place: Path, fleet: Fleet, given: argparse.Namespace) -> tuple[list[Took], float]:
        with self._running(place) as (program, port):
            return questions(program, port, fleet.end, given)

    @contextmanager
    def _running(self, place: Path) -> Iterator[tuple[Program, int]]:
        port = free_port()
        with running(self._peer.command(port, place), port, "/", patience=600) as program:
            wait_for(port, self._peer.ready)
            yield program, port

    def _load(self, program: Program, port: int, place: Path, fleet: Fleet) -> Loaded:
        writer, templates = Writer(port, self._peer.write), [Template(node, SLICE) for node in fleet.nodes]
        seconds, before = 0.0, program.cpu()
        for made in fleet.slices():
            for first in range(0, len(made[0][0]), SLICE):
                span = slice(first, first + SLICE)
                bodies = [
                    template.filled(times[span], values[span])
                    for template, (times, values) in zip(templates, made, strict=True)
                ]
                begin = time.perf_counter()
                for body in bodies:
                    writer.send(body)
                seconds += time.perf_counter() - begin
        cpu, memory = program.cpu() - before, program.pss()
        return Loaded(seconds, cpu, self._peer.bytes_a_sample(port, place, fleet.samples), memory)


def measure_ours(place: Path, fleet: Fleet, given: argparse.Namespace) -> tuple[Loaded, list[Took], float]:
    """Load frames as the link hands them over, then ask a real server on the same data."""
    load, command = load_ours(place, fleet), [sys.executable, "-m", "vigie", "server", f"--data={place}"]
    memory: list[float] = []

    def asked() -> tuple[list[Took], float]:
        port, begin = free_port(), time.perf_counter()
        with running([*command, f"--listen=127.0.0.1:{port}"], port, "/", patience=600) as program:
            wait_for(port, "/-/ready")
            print(f"vigie was ready {time.perf_counter() - begin:.1f} s after its start.", flush=True)
            memory.append(program.pss())
            return questions(program, port, fleet.end, given)

    took, peak = restarted(asked, given.restarts)
    return load._replace(memory=max(memory)), took, peak


def load_ours(place: Path, fleet: Fleet) -> Loaded:
    """Append frame by frame and step by step, with a sync at every step and the upkeep in between."""
    seconds = cpu = 0.0
    store = Store(place / "store")
    for made in fleet.slices():
        frames = [node.frames(*both) for node, both in zip(fleet.nodes, made, strict=True)]
        for _ in range(len(made[0][0])):
            ready = [(node.labels, next(each)) for node, each in zip(fleet.nodes, frames, strict=True)]
            begin, used = time.perf_counter(), time.process_time()
            for labels, frame in ready:
                store.append(labels, frame)
            store.sync()
            store.maintain(ready[-1][1].time_ms)
            seconds, cpu = seconds + time.perf_counter() - begin, cpu + time.process_time() - used
    blocks, log = store.bytes_on_disk()
    store.close()
    print(f"vigie has {blocks / fleet.samples:.2f} B a sample in blocks, and {log / 1e6:.0f} MB of log.")
    return Loaded(seconds, cpu, blocks / fleet.samples, 0.0)


def restarted(asked: Callable[[], tuple[list[Took], float]], times: int) -> tuple[list[Took], float]:
    """Start a program some times with an empty page cache, and return the median of each question."""
    rounds, peaks = [], []
    for _ in range(times):
        drop_caches()
        took, peak = asked()
        rounds.append(took)
        peaks.append(peak)
    return [_median(same) for same in zip(*rounds, strict=True)], max(peaks)


def _median(took: Sequence[Took]) -> Took:
    cold, warm = (statistics.median(times) for times in zip(*[each[:2] for each in took], strict=True))
    return took[-1]._replace(cold=cold, warm=warm)


def questions(program: Program, port: int, end: int, given: argparse.Namespace) -> tuple[list[Took], float]:
    """Ask the nine, then once more while looking at the memory."""
    took = [ask(port, question, end, given.hours, given.repeats) for question in NINE]
    with Watch(program) as watch:
        for question in NINE:
            ask(port, question, end, given.hours, 1)
    return took, watch.peak


def drop_caches() -> None:
    """Make the next reads come from the disk, where we may."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("1")
    except OSError as error:
        print(f"the page cache stays warm: {error.strerror}")


def report_load(name: str, load: Loaded, samples: int, peak: float) -> None:
    """Print a line about loading."""
    print(
        f"{name:16s} {samples / load.seconds / 1e6:6.2f} M samples/s, "
        f"{load.cpu / samples * 1e6:6.3f} us of CPU a sample, {load.bytes_a_sample:5.2f} B a sample, "
        f"{load.memory:6.0f} MB, {peak:6.0f} MB in questions",
        flush=True,
    )


def report_questions(asked: dict[str, list[Took]]) -> None:
    """Print the table of the nine questions; the ratio is to the faster peer."""
    others = [name for name in asked if name != US]
    print("| ms, cold / warm | " + " | ".join(asked) + " | cold ratio | warm ratio |")
    print("|---" * (len(asked) + 3) + "|")
    ratios: list[tuple[float, float]] = []
    for i, question in enumerate(NINE):
        cells = [f"{took[i].cold:.0f} / {took[i].warm:.0f}" for took in asked.values()]
        # A peer that finds nothing has done nothing.
        rivals = [asked[name][i] for name in others if asked[name][i].points]
        cold = asked[US][i].cold / min((took.cold for took in rivals), default=math.nan)
        warm = asked[US][i].warm / min((took.warm for took in rivals), default=math.nan)
        ratios.append((cold, warm))
        points = _difference([took[i].points for took in asked.values()])
        print(f"| {question.name}{points} | " + " | ".join(cells) + f" | {cold:.2f} | {warm:.2f} |")
    if others:
        cold, warm = (geometric_mean(list(each)) for each in zip(*ratios, strict=True))
        print("| geometric mean | " + "| " * len(asked) + f"{cold:.2f} | {warm:.2f} |")


def _difference(points: list[int]) -> str:
    return "" if len(set(points)) == 1 else f" ({', '.join(map(str, points))} points)"


if __name__ == "__main__":
    main()
