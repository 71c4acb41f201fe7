"""Series that come and go: memory by the hour, bytes a sample and look-ups, beside a fleet that stays.

python bench/store/churn.py                                     # 10 nodes
python bench/store/churn.py --nodes 100 --interval 15           # all of it, for an hour or two

Every node has 500 series that stay and 200 of containers, of which a tenth is replaced at every step.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import Program, free_port, machine, running, wait_for  # noqa: E402
from bench.store.churn_lookups import HOUR, Served, report_lookups  # noqa: E402
from bench.store.containers import METRICS, Churn, finished  # noqa: E402
from bench.store.fleet import Matrix, Times  # noqa: E402
from bench.store.peers import Peer, present  # noqa: E402
from bench.store.wire import Template, Writer  # noqa: E402
from vigie.store.store import Store  # noqa: E402
from vigie.wire.remote_write.labels import encode_labels  # noqa: E402
from vigie.wire.remote_write.write_request import compress, encode_series  # noqa: E402

CONTAINERS, REPLACED = 20, 2
SLICE = 10  # steps that are sent at a time to a peer


class Case(NamedTuple):
    """How much there is, and whether any of it comes and goes."""

    nodes: int
    hours: int
    interval: int  # seconds
    churns: bool

    @property
    def steps(self) -> int:
        """Return how many steps there are."""
        return self.hours * HOUR // self.interval

    @property
    def start(self) -> int:
        """Return the first time, in milliseconds: the same for all that run on one day."""
        return (int(time.time()) // 86_400 * 86_400 - self.hours * HOUR) * 1000

    @property
    def end(self) -> int:
        """Return when it is over, in seconds."""
        return self.start // 1000 + self.hours * HOUR

    @property
    def samples(self) -> int:
        """Return how many samples there are in all."""
        return self.nodes * self.steps * self.fleet(1)[0].width

    def fleet(self, nodes: int = 0) -> list[Churn]:
        """Return the nodes."""
        containers = CONTAINERS if self.churns else 0
        return [Churn(number, containers, REPLACED) for number in range(nodes or self.nodes)]

    def times(self, first: int, steps: int) -> Times:
        """Return the times of some steps."""
        return self.start + np.arange(first, first + steps, dtype=np.int64) * self.interval * 1000


class Loaded(NamedTuple):
    """What it took to load one case."""

    memory: list[float]  # MB after each hour
    peak: float  # MB, the most at any moment of loading
    cpu: float  # microseconds a sample
    bytes_a_sample: float


class Measured(NamedTuple):
    """How one program loads a case into a directory, and is started to answer from it."""

    load: Callable[[Path, Case], Loaded]
    serve: Callable[[Path], AbstractContextManager[Served]]


def load_ours(directory: Path, case: Case) -> None:
    """Append step by step, with upkeep in between, and print the memory after each hour."""
    store, fleet = Store(directory / "store"), case.fleet()
    used, an_hour = 0.0, HOUR // case.interval
    for first in range(0, case.steps, an_hour):
        times, values = case.times(first, an_hour), [each.node.values(an_hour) for each in fleet]
        for step in range(an_hour):
            now = int(times[step])
            frames = [each.frame(first + step, now, v[step]) for each, v in zip(fleet, values, strict=True)]
            begin = time.process_time()
            for each, frame in zip(fleet, frames, strict=True):
                store.append(each.node.labels, frame)
            store.sync()
            store.maintain(now)
            used += time.process_time() - begin
        del values, frames
        print(f"{_rss():.1f}", flush=True)
    blocks, _ = store.bytes_on_disk()
    store.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"{peak:.1f} {used / case.samples * 1e6:.3f} {blocks / case.samples:.3f}", flush=True)


def loaded_by_us(directory: Path, case: Case) -> Loaded:
    """Load in a process of its own."""
    flags = [f"--{name}={getattr(case, name)}" for name in ("nodes", "hours", "interval")]
    command = [sys.executable, __file__, "--inside", str(directory), *flags]
    command += ["--stays"] * (not case.churns)
    said = list[str]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as loading:
        for line in loading.stdout or ():
            said.append(line)
            progress("vigie", case, len(said))
    if loading.returncode:
        raise SystemExit(f"loading ended with {loading.returncode}")
    *memory, last = said
    return Loaded(list(map(float, memory)), *map(float, last.split()))


@contextmanager
def served_by_us(directory: Path) -> Iterator[Served]:
    """Run a real server."""
    port = free_port()
    command = [sys.executable, "-m", "vigie", "server", f"--listen=127.0.0.1:{port}", f"--data={directory}"]
    with running(command, port, "/", patience=600) as program:
        wait_for(port, "/-/ready")
        yield Served(program, port)


def loaded_by_peer(peer: Peer, directory: Path, case: Case) -> Loaded:
    """Load over remote write."""
    port = free_port()
    with running(peer.command(port, directory), port, "/", patience=600) as program:
        wait_for(port, peer.ready)
        before = program.cpu()
        memory = list(load_peer(program, Writer(port, peer.write), case))
        cpu = (program.cpu() - before) / case.samples * 1e6
        return Loaded(memory, max(memory), cpu, peer.bytes_a_sample(port, directory, case.samples))


@contextmanager
def served_by_peer(peer: Peer, directory: Path) -> Iterator[Served]:
    """Start it again."""
    port = free_port()
    with running(peer.command(port, directory), port, "/", patience=600) as program:
        wait_for(port, peer.ready)
        yield Served(program, port)


def load_peer(program: Program, writer: Writer, case: Case) -> Iterator[float]:
    """Send all, and yield the memory after each hour."""
    fleet, an_hour = case.fleet(), HOUR // case.interval
    templates = [Template(each.node, SLICE) for each in fleet]
    for first in range(0, case.steps, an_hour):
        values = [each.node.values(an_hour) for each in fleet]
        for at in range(0, an_hour, SLICE):
            times = case.times(first + at, SLICE)
            for each, template, numbers in zip(fleet, templates, values, strict=True):
                writer.send(template.filled(times, numbers[at : at + SLICE]))
                if case.churns:
                    writer.send(compress(_containers(each, first + at, times)))
        progress("Prometheus", case, first // an_hour + 1)
        yield program.pss()


def progress(name: str, case: Case, hour: int) -> None:
    """Say how far loading is."""
    what = "what comes and goes" if case.churns else "what stays"
    print(f"{name}, {what}: hour {min(hour, case.hours)} of {case.hours}", file=sys.stderr, flush=True)


def _containers(churn: Churn, first: int, times: Times) -> bytes:
    fields = []
    for one, begin, end in finished(churn, first, first + len(times)):
        some = times[begin - first : end - first].tolist()
        values: Matrix = one.values[begin - one.born : end - one.born]
        for i, metric in enumerate(METRICS):
            labels = dict(zip(metric.labels, one.labels, strict=True)) | churn.node.labels
            section = encode_labels({**labels, "__name__": metric.name})
            fields.append(encode_series(section, some, values[:, i].tolist()))
    return b"".join(fields)


def _rss() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def report(name: str, stays: Loaded, churns: Loaded) -> None:
    """Print what it takes one program to load both."""
    print(f"\n{name}")
    for said, one in (("stays", stays), ("churns", churns)):
        hours = " ".join(f"{memory:.0f}" for memory in one.memory)
        print(f"  {said:7s} {one.bytes_a_sample:5.2f} B and {one.cpu:6.3f} us of CPU a sample; MB: {hours}")
    print(f"  most    {churns.peak:5.0f} MB while loading, and {stays.peak:.0f} of what stays")
    print(f"  bytes   {churns.bytes_a_sample / stays.bytes_a_sample:5.2f} times (budget 3)")
    print(
        f"  memory  {churns.memory[-1] / churns.memory[1]:5.2f} times that after the second hour", flush=True
    )


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--nodes", type=int, default=10)
    arguments.add_argument("--hours", type=int, default=24)
    arguments.add_argument("--interval", type=int, default=60, help="seconds")
    arguments.add_argument("--alone", action="store_true", help="without Prometheus")
    arguments.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    arguments.add_argument("--stays", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    case = Case(given.nodes, given.hours, given.interval, not given.stays)
    if given.inside:
        load_ours(given.inside, case)
        return
    print(f"Measured {machine()}.\n{case.nodes} nodes for {case.hours} h, a step every {case.interval} s.")
    programs = {"vigie": Measured(loaded_by_us, served_by_us)}
    for peer in present():
        if peer.name == "Prometheus" and not given.alone:
            programs[peer.name] = Measured(partial(loaded_by_peer, peer), partial(served_by_peer, peer))
    for name, measured in programs.items():
        with tempfile.TemporaryDirectory() as stays, tempfile.TemporaryDirectory() as churns:
            both = [(Path(stays), case._replace(churns=False)), (Path(churns), case)]
            report(name, *(measured.load(*each) for each in both))
            with measured.serve(Path(stays)) as one, measured.serve(Path(churns)) as other:
                report_lookups(one, other, case.hours, case.end)


if __name__ == "__main__":
    main()
