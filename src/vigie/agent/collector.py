"""All the sources of this node, read on lanes so that one that is slow or hangs delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from vigie.agent.reading import Reading, Values
from vigie.sources._lane import Call, Lane, run_all

QUICK_DEADLINE = 2.0
SLOW_DEADLINE = 20.0


class Collector:
    """Refreshes readings with a deadline each; one that hangs is left behind."""

    def __init__(
        self, readings: list[Reading], *, quick: float = QUICK_DEADLINE, slow: float = SLOW_DEADLINE
    ) -> None:
        self.readings = readings
        self._quick = Lane("quick sources", quick)
        self._slow = Lane("slow sources", slow)
        self._fresh = Lane("all sources", slow)  # for whoever wants everything at once
        self._under_way: set[asyncio.Future[None]] = set()

    def values(self) -> list[Values]:
        """Return what every source last gave."""
        return [reading.values for reading in self.readings]

    async def refresh_quick(self, readings: Iterable[Reading]) -> None:
        """Read those of these sources that are quick."""
        await self._refresh(self._quick, (reading for reading in readings if not reading.source.slow))

    async def refresh_slow(self, readings: Iterable[Reading]) -> None:
        """Read those of these sources that are slow."""
        await self._refresh(self._slow, (reading for reading in readings if reading.source.slow))

    async def refresh_all(self, readings: Iterable[Reading]) -> None:
        """Read all these sources, one after the other; those that another lane is reading are waited for.

        They share a lane: two threads that both read small files fight for the interpreter's lock at
        every system call, which doubles the CPU time.
        """
        others = set(self._under_way)
        await self._refresh(self._fresh, readings)
        if others:
            await asyncio.wait(others)

    def refresh_now(self) -> None:
        """Read every source and wait for it, for callers without an event loop."""
        calls = {reading.read: reading for reading in self.readings}
        for late in run_all(self._fresh, list(calls)):
            calls[late].left_hanging(self._fresh.deadline)

    async def _refresh(self, lane: Lane, readings: Iterable[Reading]) -> None:
        calls = {reading.read: reading for reading in readings if not reading.busy}
        if not calls:
            return
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        watch = _Watch(lane, calls)
        # Last, so that the lane's thread seldom finds the interpreter's lock taken when it wakes.
        lane.submit(list(calls), lambda: _wake(loop, done))
        self._under_way.add(done)
        try:
            await done
        finally:
            self._under_way.remove(done)
            watch.end()

    def close(self) -> None:
        """Let go of the machine."""
        for lane in (self._quick, self._slow, self._fresh):
            lane.close()
        for reading in self.readings:
            if not reading.busy:
                reading.host.close()


class _Watch:
    """Looks at a lane whenever its present call should have ended, and leaves a late one behind."""

    def __init__(self, lane: Lane, calls: Mapping[Call, Reading]) -> None:
        self._lane, self._calls = lane, calls
        self._timer = asyncio.get_running_loop().call_later(lane.deadline, self._look)

    def _look(self) -> None:
        late = self._lane.skip()
        if late and late in self._calls:
            self._calls[late].left_hanging(self._lane.deadline)
        self._timer = asyncio.get_running_loop().call_later(self._lane.patience(), self._look)

    def end(self) -> None:
        """Look no more."""
        self._timer.cancel()


def _wake(loop: asyncio.AbstractEventLoop, done: asyncio.Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(_finish, done)
    except RuntimeError:
        pass  # the agent stopped while this source was still being read


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
