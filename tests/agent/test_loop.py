from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterable

from tests.agent.sources import Hanging, reading, steady
from vigie.agent.collector import Collector
from vigie.agent.loop import Loop
from vigie.agent.source_reader import SourceReader
from vigie.model import Frame, Sample
from vigie.simulation.clock import SimulatedClock
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable


class Run:
    """A loop over some sources on simulated time, with the frames that it made."""

    def __init__(self, *sources: Source, cadence: float = 10) -> None:
        self.clock = SimulatedClock(start=1000.5)
        self.frames: list[Frame] = []
        self.readings: list[SourceReader] = [reading(source, self.clock) for source in sources]
        self.collector = Collector(self.readings)
        self.loop = Loop(self.collector, self.clock, cadence=cadence, consumers=[self.frames.append])

    def until(self, frames: int) -> None:
        async def run() -> None:
            ticking = asyncio.ensure_future(self.loop.run())
            while len(self.frames) < frames:
                await asyncio.sleep(0)
            ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticking

        asyncio.run(run())

    def times(self, source: str) -> list[int]:
        return [f.time_ms for f in self.frames if any(table.source == source for table, _ in f.parts)]


def test_ticks_fall_on_multiples_of_the_cadence_and_share_one_timestamp() -> None:
    run = Run(steady("a"), steady("b"))
    run.until(4)
    assert run.times("a")[:4] == [1_000_500, 1_010_000, 1_020_000, 1_030_000]
    assert run.times("a") == run.times("b")


def test_source_with_its_own_cadence_travels_only_then() -> None:
    run = Run(steady("quick"), steady("rare", every=30))
    run.until(8)
    assert run.times("rare")[:3] == [1_000_500, 1_030_000, 1_060_000]
    assert len(run.times("quick")) >= 8


def test_source_that_is_not_here_is_looked_for_less_often_and_at_once_when_it_comes() -> None:
    looked: list[int] = []
    samples = steady("late").read

    def read(host: Host) -> Iterable[Sample]:
        looked.append(len(run.frames))
        if len(looked) < 5:
            raise Unavailable("not yet")
        return samples(host)

    run = Run(steady("a"), steady("late")._replace(read=read), cadence=1)
    run.until(20)
    assert looked[:7] == [0, 1, 6, 11, 16, 17, 18]


def test_hanging_slow_source_leaves_the_frames_of_the_others_alone() -> None:
    hanging = Hanging("stuck")
    run = Run(steady("a"), hanging.source._replace(slow=True), cadence=0.02)
    run.until(3)
    assert run.times("stuck") == []
    assert len(run.times("a")) >= 3
    hanging.go.set()


def test_quick_source_that_takes_longer_than_slow_ones_may_is_waited_for() -> None:
    hanging = Hanging("late")
    run = Run(steady("a"), hanging.source, steady("slow", slow=True), cadence=0.02)
    threading.Timer(0.1, hanging.go.set).start()
    run.until(1)
    assert run.times("late")[0] == run.times("a")[0] == 1_000_500
