"""Runs questions beside ingest: small ones in a thread, big ones in a child forked for the one question.

A fork is a picture of the store without a copy and without a protocol: the child reads heads and catalogue
as they were at that moment, however long it takes, and whatever becomes of it, the server goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from vigie.query.errors import QueryTimeoutError, TooManySamplesError
from vigie.query.limits import QueryLimits
from vigie.query.storage import ForkableStorage, Labels, Load, Matcher, Storage, StorageView
from vigie.server.forked_worker import ForkedWorker
from vigie.server.http.responses import Body, join_chunks

Work = Callable[[Storage, QueryLimits], Body]

LIGHT = 8_000_000  # values: what takes a thread a few times as long as a fork of a full server
ALONE = 3  # times as much, where nobody else asks: after a fork every page of memory costs a fault again
FEW_SERIES = 100_000
AT_ONCE = 8
QUEUE = 64


class QueryExecutor:
    """Answers questions, a bounded number at a time."""

    def __init__(
        self,
        store: ForkableStorage,
        limits: QueryLimits = QueryLimits(),  # noqa: B008 - it cannot be changed
        *,
        light: int = LIGHT,
        queue: int = QUEUE,
    ) -> None:
        self._store, self._limits = store, limits
        self._light, self._queue = light, queue
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reader")
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = self._running = 0
        self._children: set[ForkedWorker] = set()
        self.forks = 0

    @property
    def waiting(self) -> int:
        """Tell how many questions wait for their turn."""
        return self._waiting

    def close(self) -> None:
        """End the children; before the store is closed, whose files they read.

        A thread cannot be ended: one that still works on a small question only reads, so it is left alone.
        """
        for child in tuple(self._children):
            child.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def ask(self, work: Work, seconds: float | None = None, *, big: bool = False) -> Body:
        """Return what the work makes of the store, within so many seconds and the limits.

        What is known to be big goes to a child at once, without a thread's trying first.
        """
        limits = self._limits
        if seconds is not None:
            limits = limits._replace(seconds=min(seconds, limits.seconds))
        if self._waiting >= self._queue:
            raise QueryTimeoutError("query timed out in query queue: too many questions are waiting")
        deadline = asyncio.timeout(limits.seconds)
        self._waiting += 1
        try:
            async with deadline:
                await self._turns.acquire()
        except TimeoutError:
            raise QueryTimeoutError("query timed out in query queue") from None
        finally:
            self._waiting -= 1
        self._running += 1
        try:
            return await (self._forked if big else self._answered)(work, limits)
        finally:
            self._running -= 1
            self._turns.release()

    async def _answered(self, work: Work, limits: QueryLimits) -> Body:
        loop = asyncio.get_running_loop()
        light = self._light * (ALONE if self._running == 1 else 1)
        few = limits._replace(samples=min(limits.samples, light))
        try:
            return await loop.run_in_executor(self._threads, self._in_thread, work, few, light)
        except TooManySamplesError:
            if limits.samples <= light:
                raise
        return await self._forked(work, limits)

    def _in_thread(self, work: Work, limits: QueryLimits, light: int) -> Body:
        with self._store.query_running():
            return work(_Light(self._store, light), limits)

    async def _forked(self, work: Work, limits: QueryLimits) -> bytes:
        loop = asyncio.get_running_loop()
        child = ForkedWorker(limits.seconds)
        self.forks += 1
        self._children.add(child)
        running = loop.run_in_executor(self._threads, self._in_child, child, work, limits)
        running.add_done_callback(lambda _: self._children.discard(child))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            child.kill()  # nobody waits for the answer any more
            await asyncio.wait([running])
            raise

    def _in_child(self, child: ForkedWorker, work: Work, limits: QueryLimits) -> bytes:
        with self._store.fork_lock():
            child.start(self._store.after_fork, lambda: join_chunks(work(self._store, limits)))
        return child.answer()


class _Light(StorageView):
    """The store, for a question that reads little: more is refused before it is read."""

    def __init__(self, store: ForkableStorage, allowed: int) -> None:
        super().__init__(store)
        self._store, self._left = store, allowed

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield what reads their groups one by one, if they are few."""
        self._spend(matchers, start, end)
        return self._store.scan(matchers, start, end)

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of the series, if they are few."""
        found = self._store.series_up_to(matchers, start, end, FEW_SERIES)
        if found is None:
            raise TooManySamplesError
        return found

    def first_series(self, matchers: Sequence[Matcher], start: int, end: int, limit: int) -> list[Labels]:
        """Return the label sets of the first so many series, if that is few."""
        if limit > FEW_SERIES:
            return self.series(matchers, start, end)
        return self._store.first_series(matchers, start, end, limit)

    def label_cardinality(self) -> Counter[tuple[str, str]]:
        return self._store.label_cardinality()

    def _spend(self, matchers: Sequence[Matcher], start: int, end: int) -> None:
        self._left -= self._store.estimate_samples(matchers, start, end, self._left)
        if self._left < 0:
            raise TooManySamplesError


class QueryWork(Protocol):
    """What runs work on the store."""

    async def ask(self, work: Work, seconds: float | None = None) -> Body:
        """Return the result of the work."""
