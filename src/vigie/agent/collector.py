"""All the sources of this node, read on two lanes so that a slow one delays no scrape."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

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
        self._lanes = {False: (Lane("quick sources"), quick), True: (Lane("slow sources"), slow)}

    def values(self) -> list[Values]:
        """Return what every source last gave."""
        return [reading.values for reading in self.readings]

    async def refresh(self, readings: Iterable[Reading]) -> None:
        """Read these sources, each within its deadline.

        The lanes take turns, one waking the next: two threads that both read small files fight for
        the interpreter's lock at every system call, which doubles the CPU time.
        """
        batches = self._batches(list(readings))
        if not batches:
            return
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        watches = [_Watch(lane, calls, deadline) for lane, calls, deadline in batches]
        _in_turn([(lane, list(calls)) for lane, calls, _ in batches], lambda: _wake(loop, done))
        try:
            await done
        finally:
            for watch in watches:
                watch.end()

    def _batches(self, readings: list[Reading]) -> list[tuple[Lane, dict[Call, Reading], float]]:
        batches = []
        for slow, (lane, deadline) in self._lanes.items():
            calls = {r.read: r for r in readings if r.source.slow is slow and not r.busy}
            if calls:
                batches.append((lane, calls, deadline))
        return batches

    def refresh_now(self) -> None:
        """Read every source and wait for it, for callers without an event loop."""
        for slow, (lane, deadline) in self._lanes.items():
            calls = {reading.read: reading for reading in self.readings if reading.source.slow is slow}
            for late in run_all(lane, list(calls), deadline):
                calls[late].left_hanging(deadline)

    def close(self) -> None:
        """Let go of the machine."""
        for lane, _ in self._lanes.values():
            lane.close()
        for reading in self.readings:
            if not reading.busy:
                reading.host.close()


class _Watch:
    """Looks at a lane whenever its present call should have ended, and leaves a late one behind."""

    def __init__(self, lane: Lane, calls: Mapping[Call, Reading], deadline: float) -> None:
        self._lane, self._calls, self._deadline = lane, calls, deadline
        self._timer = asyncio.get_running_loop().call_later(deadline, self._look)

    def _look(self) -> None:
        late = self._lane.skip(self._deadline)
        if late and late in self._calls:
            self._calls[late].left_hanging(self._deadline)
        rest = max(self._deadline - self._lane.stuck_for(), 0.01)
        self._timer = asyncio.get_running_loop().call_later(rest, self._look)

    def end(self) -> None:
        """Look no more."""
        self._timer.cancel()


def _in_turn(batches: list[tuple[Lane, list[Call]]], done: Callable[[], None]) -> None:
    """Let each lane make its calls when the one before has made its own, then call `done`."""
    if not batches:
        done()
        return
    lane, calls = batches[0]
    lane.submit(calls, lambda: _in_turn(batches[1:], done))


def _wake(loop: asyncio.AbstractEventLoop, done: asyncio.Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(_finish, done)
    except RuntimeError:
        pass  # the agent stopped while this source was still being read


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
