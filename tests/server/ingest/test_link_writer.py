"""What comes over the links is stored in order, many entries with one sync, and a stop waits for few."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vigie.server.cluster.activity_table import ActivityTable
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.cluster.events import EventStore
from vigie.server.ingest.batch_worker import BatchWorker
from vigie.server.ingest.link_writer import LinkWriter, Outcome, StoreUnavailableError
from vigie.server.staleness.activity import ActivityLog
from vigie.store.errors import CorruptionError
from vigie.store.store import Store

MANY = 100
Parts = tuple[Store, ClusterDatabase, EventStore, ActivityLog]


def test_what_comes_behind_a_batch_is_taken_together_and_a_lone_job_at_once() -> None:
    taken: list[list[int]] = []
    alone = threading.Event()

    def take(jobs: list[int]) -> None:
        taken.append(jobs)
        alone.set()

    batches = BatchWorker("test", take, most=10, apart=3600.0)
    batches.put(1)
    assert alone.wait(60)
    for job in (2, 3, 4):
        batches.put(job)
    batches.close()  # which waits for no interval
    assert taken == [[1], [2, 3, 4]]


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    with (
        Store(tmp_path / "store") as store,
        contextlib.closing(ClusterDatabase(tmp_path / FILE)) as database,
        contextlib.closing(ActivityLog(ActivityTable(database), store, lambda: 0)) as activity,
    ):
        yield store, database, EventStore(database), activity


def test_entry_that_meets_a_damaged_block_is_refused_so_that_it_is_not_sent_for_ever(
    parts: Parts,
) -> None:
    def meets_damage() -> None:
        raise CorruptionError("a blob's checksum is wrong")

    async def test() -> None:
        writer = LinkWriter(*parts)
        outcomes = list[Outcome]()
        await writer.submit(meets_damage, outcomes.append)
        await asyncio.to_thread(writer.close)
        while not outcomes:
            await asyncio.sleep(0)
        assert outcomes == ["a blob's checksum is wrong"]

    asyncio.run(test())


def test_fault_with_one_entry_costs_only_that_entry(
    parts: Parts,
) -> None:
    async def test() -> None:
        writer = LinkWriter(*parts)
        outcomes = list[Outcome]()
        await writer.submit(lambda: None, outcomes.append)
        await writer.submit(lambda: [][0], outcomes.append)
        await writer.submit(lambda: None, outcomes.append)
        await asyncio.to_thread(writer.close)
        while len(outcomes) < 3:
            await asyncio.sleep(0)
        assert outcomes == [None, "internal: list index out of range", None]

    asyncio.run(test())


def test_what_the_server_itself_cannot_note_is_said_once(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise sqlite3.OperationalError("database or disk is full")

    async def test() -> None:
        writer = LinkWriter(*parts)
        for _ in range(3):
            writer.run_later(fail)
        await asyncio.to_thread(writer.close)

    asyncio.run(test())
    assert sum("disk is full" in text for text in caplog.messages) == 1


def test_stop_does_not_wait_for_a_long_queue_and_acknowledges_none_of_the_rest(
    parts: Parts,
) -> None:
    async def test() -> None:
        writer = LinkWriter(*parts, close_seconds=0.0)
        stored, outcomes, own = list[int](), list[Outcome](), list[str]()
        begun, free = threading.Event(), threading.Event()

        def first() -> None:
            begun.set()
            assert free.wait(60)
            stored.append(0)

        await writer.submit(first, outcomes.append)
        assert await asyncio.to_thread(begun.wait, 60)
        for number in range(1, MANY):
            await writer.submit(lambda number=number: stored.append(number), outcomes.append)  # type: ignore[misc]
        writer.run_later(lambda: own.append("what the server itself has to say"))
        closing = asyncio.ensure_future(asyncio.to_thread(writer.close))
        while writer._until == float("inf"):
            await asyncio.sleep(0)
        free.set()
        await closing
        while len(outcomes) < MANY:
            await asyncio.sleep(0)
        assert stored == [0]
        assert outcomes[0] is None
        assert all(isinstance(outcome, StoreUnavailableError) for outcome in outcomes[1:])
        assert own

    asyncio.run(test())
