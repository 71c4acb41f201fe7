"""All the sources of this node, read on lanes so that one that is slow or hangs delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from vigie.agent.source_reader import SourceReader
from vigie.model.table import TableValues
from vigie.sources.core.lane import Call, Lane, run_all

QUICK_DEADLINE = 2.0
SLOW_DEADLINE = 20.0


class _Turn(NamedTuple):
    """Sources to be read on a lane, by the call that does it."""

    lane: Lane
    calls: Mapping[Call, SourceReader]


class Collector:
    """Refreshes readings with a deadline each; one that hangs is left behind."""

    def __init__(
        self, readings: list[SourceReader], *, quick: float = QUICK_DEADLINE, slow: float = SLOW_DEADLINE
    ) -> None:
        self.readings = readings
        self._quick = Lane("quick sources", quick)
        self._slow = Lane("slow sources", slow)
        self._fresh = Lane("all sources", slow)  # for whoever wants everything at once
        self._under_way: set[asyncio.Future[None]] = set()

    def values(self) -> list[TableValues]:
        """Return what every source last gave."""
        return [reading.values for reading in self.readings]

    async def refresh_quick(self, readings: Iterable[SourceReader]) -> None:
        await self._read(_turn(self._quick, (one for one in readings if not one.source.slow)))

    def refresh_in_turn(self, readings: Sequence[SourceReader]) -> asyncio.Future[None]:
        """Read the quick ones of these sources, then the slow ones; what is returned is done after all.

        Not side by side: two threads that read fight for the interpreter's lock at every system call.
        """
        return self._read(
            _turn(self._quick, (one for one in readings if not one.source.slow)),
            _turn(self._slow, (one for one in readings if one.source.slow)),
        )

    async def quick_are_read(self) -> None:
        """Wait for the quick sources whose turn has come already."""
        await self._begin([_Turn(self._quick, {})])

    async def refresh_all(self, readings: Iterable[SourceReader]) -> None:
        """Read all these sources, one after the other; those that another lane is reading are waited for.

        They share a lane: two threads that both read small files fight for the interpreter's lock at
        every system call, which doubles the CPU time.
        """
        others = set(self._under_way)
        await self._read(_turn(self._fresh, readings))
        if others:
            await asyncio.wait(others)

    def refresh_now(self) -> None:
        """Read every source and wait for it, for callers without an event loop."""
        calls = {reading.read: reading for reading in self.readings}
        for late in run_all(self._fresh, list(calls)):
            calls[late].left_hanging(self._fresh.deadline)

    def _read(self, *turns: _Turn) -> asyncio.Future[None]:
        return self._begin([turn for turn in turns if turn.calls])

    def _begin(self, turns: Sequence[_Turn]) -> asyncio.Future[None]:
        """Have the lanes take their turns, watch them, and return what is done when the last has ended."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        watches = [_Watch(turn) for turn in turns]
        self._under_way.add(done)
        done.add_done_callback(lambda _: self._ended(done, watches))
        # Last, so that the lane's thread seldom finds the interpreter's lock taken when it wakes.
        _submit(turns, lambda: _wake(loop, done))
        return done

    def _ended(self, done: asyncio.Future[None], watches: Iterable[_Watch]) -> None:
        self._under_way.remove(done)
        for watch in watches:
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

    def __init__(self, turn: _Turn) -> None:
        self._lane, self._calls = turn
        self._timer = asyncio.get_running_loop().call_later(self._lane.deadline, self._look)

    def _look(self) -> None:
        late = self._lane.skip()
        if late and late in self._calls:
            self._calls[late].left_hanging(self._lane.deadline)
        self._timer = asyncio.get_running_loop().call_later(self._lane.patience(), self._look)

    def end(self) -> None:
        """Look no more."""
        self._timer.cancel()


def _turn(lane: Lane, readings: Iterable[SourceReader]) -> _Turn:
    return _Turn(lane, {reading.read: reading for reading in readings if not reading.busy})


def _submit(turns: Sequence[_Turn], finished: Callable[[], None], before: Lane | None = None) -> None:
    """Have one lane after the other make its calls."""
    if not turns:
        finished()
        return
    (lane, calls), *rest = turns
    submit = partial(before.go_on_with, lane) if before else lane.submit
    submit(list(calls), lambda: _submit(rest, finished, lane))


def _wake(loop: asyncio.AbstractEventLoop, done: asyncio.Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(_finish, done)
    except RuntimeError:
        pass  # the agent stopped while this source was still being read


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
