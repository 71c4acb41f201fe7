"""Reads the sources on lanes, so that a slow or hanging one does not delay the others."""

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


class _LaneReads(NamedTuple):
    """Readers for one lane, by the call that reads."""

    lane: Lane
    calls: Mapping[Call, SourceReader]


class Collector:
    """Reads sources, each within a deadline. One that hangs is abandoned."""

    def __init__(
        self, readers: list[SourceReader], *, quick: float = QUICK_DEADLINE, slow: float = SLOW_DEADLINE
    ) -> None:
        self.readers = readers
        self._quick = Lane("quick sources", quick)
        self._slow = Lane("slow sources", slow)
        self._fresh = Lane("all sources", slow)  # for ?fresh and --once
        self._running: set[asyncio.Future[None]] = set()

    def values(self) -> list[TableValues]:
        return [reader.values for reader in self.readers]

    async def refresh_quick(self, readers: Iterable[SourceReader]) -> None:
        await self._read(_group_reads(self._quick, (one for one in readers if not one.source.slow)))

    def refresh_in_turn(self, readers: Sequence[SourceReader]) -> asyncio.Future[None]:
        """Read the quick sources, then the slow ones. The result is done after all.

        One after the other: threads that read compete for the GIL at every system call.
        """
        return self._read(
            _group_reads(self._quick, (one for one in readers if not one.source.slow)),
            _group_reads(self._slow, (one for one in readers if one.source.slow)),
        )

    async def wait_for_quick(self) -> None:
        """Wait for quick sources that are already being read."""
        await self._begin([_LaneReads(self._quick, {})])

    async def refresh_all(self, readers: Iterable[SourceReader]) -> None:
        """Read all these sources in sequence, and wait for those that another lane is reading.

        They share one lane: two threads that read small files compete for the GIL at every system call,
        which doubles the CPU time.
        """
        others = set(self._running)
        await self._read(_group_reads(self._fresh, readers))
        if others:
            await asyncio.wait(others)

    def refresh_now(self) -> None:
        """Read every source and wait, for callers without an event loop."""
        calls = {reader.read: reader for reader in self.readers}
        for late in run_all(self._fresh, list(calls)):
            calls[late].mark_hung(self._fresh.deadline)

    def _read(self, *lane_reads: _LaneReads) -> asyncio.Future[None]:
        return self._begin([reads for reads in lane_reads if reads.calls])

    def _begin(self, lane_reads: Sequence[_LaneReads]) -> asyncio.Future[None]:
        """Start the reads on their lanes and watch them. The result is done after the last one."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        watchdogs = [_LaneWatchdog(reads) for reads in lane_reads]
        self._running.add(done)
        done.add_done_callback(lambda _: self._end_reads(done, watchdogs))
        # Last, so that the lane's thread rarely finds the GIL taken when it wakes.
        _submit(lane_reads, lambda: _wake(loop, done))
        return done

    def _end_reads(self, done: asyncio.Future[None], watchdogs: Iterable[_LaneWatchdog]) -> None:
        self._running.remove(done)
        for watchdog in watchdogs:
            watchdog.stop()

    def close(self) -> None:
        """Release all files and libraries."""
        for lane in (self._quick, self._slow, self._fresh):
            lane.close()
        for reader in self.readers:
            if not reader.busy:
                reader.host.close()


class _LaneWatchdog:
    """Checks a lane when its current call should have ended, and abandons a late one."""

    def __init__(self, reads: _LaneReads) -> None:
        self._lane, self._calls = reads
        self._timer = asyncio.get_running_loop().call_later(self._lane.deadline, self._check)

    def _check(self) -> None:
        late = self._lane.skip()
        if late and late in self._calls:
            self._calls[late].mark_hung(self._lane.deadline)
        self._timer = asyncio.get_running_loop().call_later(self._lane.time_left(), self._check)

    def stop(self) -> None:
        self._timer.cancel()


def _group_reads(lane: Lane, readers: Iterable[SourceReader]) -> _LaneReads:
    return _LaneReads(lane, {reader.read: reader for reader in readers if not reader.busy})


def _submit(
    lane_reads: Sequence[_LaneReads], finished: Callable[[], None], before: Lane | None = None
) -> None:
    """Run the reads of one lane after those of another."""
    if not lane_reads:
        finished()
        return
    (lane, calls), *rest = lane_reads
    submit = partial(before.hand_over, lane) if before else lane.submit
    submit(list(calls), lambda: _submit(rest, finished, lane))


def _wake(loop: asyncio.AbstractEventLoop, done: asyncio.Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(_finish, done)
    except RuntimeError:
        pass  # the agent stopped while a source was being read


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
