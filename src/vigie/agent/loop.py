"""Reads each source at its interval, and builds one frame per tick."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence

from vigie.agent.collector import Collector
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.common.clock import Clock
from vigie.model import Frame, Table

log = logging.getLogger(__name__)

Consumer = Callable[[Frame], None]
OwnTable = Callable[[], tuple[Table, tuple[float, ...]]]  # metrics of a part of the agent

# Slow sources that take longer than this share of the interval are sent with the next frame.
SLOW_WAIT_SECONDS = 0.5

# Interval for sources that were unavailable in the last reads. On a given machine a third of
# them are.
ABSENT_SECONDS, ABSENT_READS = 5.0, 2


class Loop:
    def __init__(
        self, collector: Collector, clock: Clock, *, cadence: float, consumers: Sequence[Consumer] = ()
    ) -> None:
        self.frames = 0
        self.tables: Sequence[OwnTable] = ()  # sent with every frame
        self._collector = collector
        self._clock = clock
        self._cadence = cadence
        self._consumers = consumers
        self._read_at = dict.fromkeys(collector.readers, float("-inf"))
        self._sent_at = dict.fromkeys(collector.readers, float("-inf"))
        self._slow_read: asyncio.Future[None] | None = None  # done after the slow sources are read

    async def run(self) -> None:
        """Tick forever, at multiples of the interval, so that frames of all nodes align."""
        while True:
            await self.tick()
            now = self._clock.wall()
            next_tick = (math.floor(now / self._cadence) + 1) * self._cadence
            await self._clock.sleep(next_tick - now)

    async def tick(self) -> None:
        """Read the sources that are due, and emit a frame."""
        time_ms = round(self._clock.wall() * 1000)
        due = self._find_due(self._clock.monotonic())
        reader = self._collector.refresh_in_turn(due)
        if self._slow_read is None or self._slow_read.done():
            self._slow_read = reader
        else:
            await reader  # quick ones only
        read, _ = await asyncio.wait([self._slow_read], timeout=self._cadence * SLOW_WAIT_SECONDS)
        if not read:
            await self._collector.wait_for_quick()
        self._emit(time_ms)

    def _find_due(self, now: float) -> list[SourceReader]:
        waiting = self._slow_read is not None and not self._slow_read.done()
        due = [
            reader
            for reader in self._collector.readers
            if self._read_at[reader] + self._interval(reader) <= now and not (waiting and reader.source.slow)
        ]
        self._read_at.update(dict.fromkeys(due, now))
        return due

    def _interval(self, reader: SourceReader) -> float:
        """Return the interval of a source, less half a tick for one that comes early."""
        seconds = max(reader.source.every, self._cadence)
        if reader.outcome is Outcome.UNAVAILABLE and reader.repeats >= ABSENT_READS:
            seconds = max(seconds, ABSENT_SECONDS)
        return seconds - self._cadence / 2

    def _emit(self, time_ms: int) -> None:
        fresh = []
        for reader in self._collector.readers:
            if reader.read_at > self._sent_at[reader]:
                self._sent_at[reader] = reader.read_at
                fresh.append((reader.values.table, reader.values.numbers))
        if not fresh:
            return
        self.frames += 1
        own = [
            part for part in (table() for table in self.tables) if part[0].version
        ]  # version 0: no values yet
        frame = Frame(time_ms, (*fresh, *own))
        for consumer in self._consumers:
            consumer(frame)
