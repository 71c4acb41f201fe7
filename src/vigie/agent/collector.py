"""All the sources of this node, read on two lanes so that a slow one delays no scrape."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from vigie.agent.reading import Reading, Values
from vigie.sources._lane import Lane, run_all

QUICK_DEADLINE = 2.0
SLOW_DEADLINE = 20.0


class Collector:
    """Refreshes readings with a deadline each; one that hangs is left behind."""

    def __init__(
        self, readings: list[Reading], *, quick: float = QUICK_DEADLINE, slow: float = SLOW_DEADLINE
    ) -> None:
        self.readings = readings
        self._lanes = {False: (Lane("quick sources"), quick), True: (Lane("slow sources"), slow)}

    def values(self) -> list[Values]:
        """Return what every source last gave."""
        return [reading.values for reading in self.readings]

    async def refresh(self, readings: Iterable[Reading]) -> None:
        """Read these sources, each within its deadline.

        The lanes take turns: two threads that both read small files fight for the interpreter's
        lock at every system call, which doubles the CPU time.
        """
        readings = list(readings)
        for slow in self._lanes:
            await self._drive(slow, readings)

    def refresh_now(self) -> None:
        """Read every source and wait for it, for callers without an event loop."""
        for slow, (lane, deadline) in self._lanes.items():
            calls = {reading.read: reading for reading in self.readings if reading.source.slow is slow}
            for late in run_all(lane, list(calls), deadline):
                calls[late].left_hanging(deadline)

    async def _drive(self, slow: bool, readings: list[Reading]) -> None:
        lane, deadline = self._lanes[slow]
        calls = {r.read: r for r in readings if r.source.slow is slow and not r.busy}
        if not calls:
            return
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        lane.submit(list(calls), lambda: _wake(loop, done))
        while not done.is_set():
            try:
                await asyncio.wait_for(done.wait(), max(deadline - lane.stuck_for(), 0.01))
            except TimeoutError:
                late = lane.skip(deadline)
                if late in calls:
                    calls[late].left_hanging(deadline)

    def close(self) -> None:
        """Let go of the machine."""
        for lane, _ in self._lanes.values():
            lane.close()
        for reading in self.readings:
            if not reading.busy:
                reading.host.close()


def _wake(loop: asyncio.AbstractEventLoop, done: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(done.set)
    except RuntimeError:
        pass  # the agent stopped while this source was still being read
