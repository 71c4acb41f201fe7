"""The loop: each source at its cadence, one frame for all that was due at a tick."""

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
OwnTable = Callable[[], tuple[Table, tuple[float, ...]]]  # what a part of the agent says of itself

# Slow sources that need longer than this share of the cadence travel with the next frame.
SLOW_WAIT_SECONDS = 0.5

# What was not here at the last reads is looked for after so many seconds: a third of all sources find nothing
# on a given machine.
ABSENT_SECONDS, ABSENT_READS = 5.0, 2


class Loop:
    """Reads sources when they are due and hands each tick's frame to its consumers."""

    def __init__(
        self, collector: Collector, clock: Clock, *, cadence: float, consumers: Sequence[Consumer] = ()
    ) -> None:
        self.frames = 0
        self.tables: Sequence[OwnTable] = ()  # travel with every frame
        self._collector = collector
        self._clock = clock
        self._cadence = cadence
        self._consumers = consumers
        self._read_at = dict.fromkeys(collector.readers, float("-inf"))
        self._sent_at = dict.fromkeys(collector.readers, float("-inf"))
        self._slow_read: asyncio.Future[None] | None = None  # done when the slow sources are read

    async def run(self) -> None:
        """Tick for ever, on multiples of the cadence so that frames of all nodes line up."""
        while True:
            await self.tick()
            now = self._clock.wall()
            next_tick = (math.floor(now / self._cadence) + 1) * self._cadence
            await self._clock.sleep(next_tick - now)

    async def tick(self) -> None:
        """Read what is due and hand it on."""
        time_ms = round(self._clock.wall() * 1000)
        due = self._find_due(self._clock.monotonic())
        reader = self._collector.refresh_in_turn(due)
        if self._slow_read is None or self._slow_read.done():
            self._slow_read = reader
        else:
            await reader  # of quick ones alone
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
        """Return how long a source is left alone; half a cadence less, for a tick that comes early."""
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
        own = [part for part in (table() for table in self.tables) if part[0].version]  # 0: nothing yet
        frame = Frame(time_ms, (*fresh, *own))
        for consumer in self._consumers:
            consumer(frame)
