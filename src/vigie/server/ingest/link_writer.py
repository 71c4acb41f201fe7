"""Stores what comes over the links: one thread, and one sync for everything that waits."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from vigie.common.change_logger import ChangeLogger
from vigie.model import Event
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.events import EventStore
from vigie.server.ingest.batch_worker import BatchWorker
from vigie.server.staleness.activity import ActivityLog
from vigie.store.errors import CorruptionError, InvalidInputError, StoreError
from vigie.store.store import Store

log = logging.getLogger(__name__)

A_SYNC = 256  # entries that share a sync at most
APART = 0.1  # seconds between two syncs, so that the entries of many nodes share one
ROOM = 2048  # entries of all links that may wait to be stored
CLOSE_SECONDS = 1.0  # for what waits then; the rest is not acknowledged, and sent again


class StoreUnavailableError(Exception):
    """The store takes nothing now; the agents keep what they have."""


Outcome = str | StoreUnavailableError | None  # why an entry is refused; nothing when it is synced


class _Job(NamedTuple):
    store: Callable[[], None]
    done: Callable[[Outcome], None] | None


class LinkWriter:
    """Stores entries in the order in which they came, and tells when they are synced."""

    def __init__(
        self,
        store: Store,
        events: EventStore,
        absences: ActivityLog,
        book: BindingStore,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        self.syncs = 0
        self._close_seconds, self._until = close_seconds, float("inf")
        self._store, self._events, self._absences, self._book = store, events, absences, book
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(ROOM)
        self._complain = ChangeLogger("what the server itself notes")
        self._jobs = BatchWorker("link writer", self._take, A_SYNC, apart=APART)

    @property
    def waiting(self) -> int:
        """Tell how many entries wait to be stored."""
        return self._jobs.waiting

    def close(self) -> None:
        """Store what waits, as much as can be done in a moment, and end."""
        self._until = time.monotonic() + self._close_seconds
        self._jobs.close()

    async def submit(self, store: Callable[[], None], done: Callable[[Outcome], None]) -> None:
        """Have something stored by a call in the writer's thread; `done` is called here when it is synced."""
        await self._room.acquire()
        self._jobs.put(_Job(store, done))

    def tell(self, event: Event) -> None:
        """Have an event of our own stored."""
        self.later(partial(self._events.add, event))

    def later(self, call: Callable[[], None]) -> None:
        """Have something done after all that was submitted before."""
        self._jobs.put(_Job(call, None))

    def _take(self, jobs: list[_Job]) -> None:
        outcomes = [(job, self._stored(job)) for job in jobs]
        for job, outcome in outcomes:
            if job.done is None:
                self._complain(str(outcome or ""))
        failure = self._sync()
        told = [(job.done, outcome or failure) for job, outcome in outcomes if job.done]
        try:
            self._loop.call_soon_threadsafe(self._settle, told)
        except RuntimeError:
            pass  # the server has stopped; the agents send it again

    def _stored(self, job: _Job) -> Outcome:
        if job.done and time.monotonic() > self._until:
            return StoreUnavailableError("the server is being stopped")
        try:
            job.store()
        except (
            InvalidInputError,
            CorruptionError,
        ) as error:  # sent again it would meet the same damage, for ever
            return str(error)
        except (StoreError, sqlite3.Error, OSError) as error:
            return StoreUnavailableError(str(error))
        except Exception as error:  # a fault of ours with one entry must not end the storing of all
            log.exception("an entry cannot be stored")
            return f"internal: {error}"
        return None

    def _settle(self, told: list[tuple[Callable[[Outcome], None], Outcome]]) -> None:
        for done, outcome in told:
            self._room.release()
            done(outcome)

    def _sync(self) -> StoreUnavailableError | None:
        try:
            self._store.sync()
            self._events.sync()
            self._absences.sync()
            self._book.sync()
        except (StoreError, sqlite3.Error, OSError) as error:
            return StoreUnavailableError(str(error))
        self.syncs += 1
        return None
