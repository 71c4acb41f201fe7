"""Stores what arrives over the links: one thread, and one sync for everything that waits."""

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
from vigie.server.byte_budget import ByteSemaphore
from vigie.server.cluster.database import ClusterDatabase
from vigie.server.cluster.events import EventStore
from vigie.server.ingest.batch_worker import BatchWorker
from vigie.server.staleness.activity import ActivityLog
from vigie.store.errors import CorruptionError, InvalidInputError, StoreError
from vigie.store.store import Store

log = logging.getLogger(__name__)

MAX_BATCH = 256  # entries that share a sync
SYNC_INTERVAL_SECONDS = 0.1  # so that the entries of many nodes share a sync
MAX_WAITING = 2048  # entries of all links
MAX_WAITING_BYTES = 64 << 20
CLOSE_SECONDS = 1.0  # what is not stored by then is not acknowledged, so it is sent again


class StoreUnavailableError(Exception):
    """Nothing can be stored now; the agents keep what they have."""


Outcome = str | StoreUnavailableError | None  # why an entry was refused; None when it is synced


class _Job(NamedTuple):
    store: Callable[[], None]
    done: Callable[[Outcome], None] | None
    size: int = 0


class LinkWriter:
    """Stores entries in order of arrival, and reports when they are synced."""

    def __init__(
        self,
        store: Store,
        database: ClusterDatabase,
        events: EventStore,
        activity: ActivityLog,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        self.syncs = 0
        self._close_seconds, self._until = close_seconds, float("inf")
        self._store, self._database, self._events, self._activity = store, database, events, activity
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(MAX_WAITING)
        self._byte_room = ByteSemaphore(MAX_WAITING_BYTES)
        self._log_change = ChangeLogger("events of the server")
        self._jobs = BatchWorker("link writer", self._store_batch, MAX_BATCH, apart=SYNC_INTERVAL_SECONDS)

    @property
    def waiting(self) -> int:
        """Return how many entries wait to be stored."""
        return self._jobs.waiting

    def close(self) -> None:
        """Store what waits, as far as the time allows, and stop."""
        self._until = time.monotonic() + self._close_seconds
        self._jobs.close()

    async def submit(self, store: Callable[[], None], done: Callable[[Outcome], None], size: int = 0) -> None:
        """Run a call that holds so many bytes in the writer's thread; `done` is called when it is synced."""
        await self._room.acquire()
        await self._byte_room.acquire(size)
        self._jobs.put(_Job(store, done, size))

    def record_event(self, event: Event) -> None:
        """Store an event of the server itself."""
        self.run_later(partial(self._events.add, event))

    def run_later(self, call: Callable[[], None]) -> None:
        """Run a call after all that was submitted before."""
        self._jobs.put(_Job(call, None))

    def _store_batch(self, jobs: list[_Job]) -> None:
        outcomes = [(job, self._store_job(job)) for job in jobs]
        for job, outcome in outcomes:
            if job.done is None:
                self._log_change(str(outcome or ""))
        failure = self._sync()
        results = [(job, outcome or failure) for job, outcome in outcomes if job.done]
        try:
            self._loop.call_soon_threadsafe(self._settle, results)
        except RuntimeError:
            pass  # the server has stopped; the agents send it again

    def _store_job(self, job: _Job) -> Outcome:
        if job.done and time.monotonic() > self._until:
            return StoreUnavailableError("the server is stopping")
        try:
            job.store()
        except (InvalidInputError, CorruptionError) as error:  # sent again it would fail again
            return str(error)
        except (StoreError, sqlite3.Error, OSError) as error:
            return StoreUnavailableError(str(error))
        except Exception as error:  # a bug with one entry must not stop the writer
            log.exception("cannot store an entry")
            return f"internal: {error}"
        return None

    def _settle(self, results: list[tuple[_Job, Outcome]]) -> None:
        for job, outcome in results:
            self._room.release()
            self._byte_room.release(job.size)
            assert job.done is not None
            job.done(outcome)

    def _sync(self) -> StoreUnavailableError | None:
        try:
            self._store.sync()
            self._activity.save()
            self._database.sync()
        except (StoreError, sqlite3.Error, OSError) as error:
            return StoreUnavailableError(str(error))
        self.syncs += 1
        return None
