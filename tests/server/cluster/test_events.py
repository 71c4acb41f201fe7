"""Events: kept once, found by what they are, page by page, and for their time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from vigie.model import Event
from vigie.server.cluster.database import DAY_MS, FILE, PRUNE_EVERY, ClusterDatabase
from vigie.server.cluster.events import EventFilter, EventStore


@pytest.fixture
def events(tmp_path: Path) -> Iterator[EventStore]:
    with contextlib.closing(ClusterDatabase(tmp_path / FILE)) as database:
        yield EventStore(database)


def xid(begin: int, node: str = "n1", **fields: object) -> Event:
    return Event("xid", begin, "it fell off the bus", {"node": node, "gpu": "0"})._replace(**fields)  # type: ignore[arg-type]


def begins(found: list[object]) -> list[int]:
    return [kept.event.begin_ms for kept in found]  # type: ignore[attr-defined]


def test_event_comes_back_as_it_was(events: EventStore) -> None:
    events.add(xid(1000, end_ms=2000, severity="critical"))
    (kept,) = events.find()
    assert kept.event == xid(1000, end_ms=2000, severity="critical")


def test_same_event_again_changes_nothing_and_its_end_is_news(events: EventStore) -> None:
    events.add(xid(1000))
    number = events.last()
    events.add(xid(1000))
    assert events.last() == number
    events.add(xid(1000, end_ms=5000))
    events.add(xid(1000))  # a late copy does not take the end back
    (kept,) = events.after(number)
    assert kept.event.end_ms == 5000
    assert len(events.find()) == 1


def test_events_are_found_by_what_they_are(events: EventStore) -> None:
    events.add(xid(1000))
    events.add(xid(2000, node="n2", severity="critical"))
    events.add(xid(3000, kind="oom"))
    assert begins([*events.find(EventFilter(node="n2"))]) == [2000]
    assert begins([*events.find(EventFilter(kind="oom"))]) == [3000]
    assert begins([*events.find(EventFilter(severity="critical"))]) == [2000]
    assert begins([*events.find(EventFilter(since_ms=1500, until_ms=2500))]) == [2000]


def test_event_that_reaches_into_a_time_span_is_found(events: EventStore) -> None:
    events.add(xid(1000, end_ms=9000))
    assert begins([*events.find(EventFilter(since_ms=5000, until_ms=6000))]) == [1000]


def test_pages_hold_everything_once(events: EventStore) -> None:
    for node in range(7):
        events.add(xid(1000 * (node // 2), node=f"n{node}"))
    pages, before = [], None
    while page := events.find(limit=2, before=before):
        pages += page
        before = (page[-1].event.begin_ms, page[-1].id)
    assert len({kept.id for kept in pages}) == len(pages) == 7
    assert begins([*pages]) == sorted(begins([*pages]), reverse=True)


def test_old_and_too_many_events_go(tmp_path: Path) -> None:
    database = ClusterDatabase(tmp_path / FILE)
    events = EventStore(database, keep_days=1, max_events=3)
    for begin in (0, DAY_MS, DAY_MS + 1, DAY_MS + 2, DAY_MS + 3):
        events.add(xid(begin))
    events.prune(DAY_MS + 10)
    assert begins([*events.find()]) == [DAY_MS + 3, DAY_MS + 2, DAY_MS + 1]
    database.close()


def test_old_events_go_by_the_clock_of_the_server_as_others_come(tmp_path: Path) -> None:
    with contextlib.closing(ClusterDatabase(tmp_path / FILE)) as database:
        events = EventStore(database, keep_days=1, clock=lambda: 2 * DAY_MS)
        for begin in (DAY_MS - 1, DAY_MS):
            events.add(xid(begin))
        for later in range(1, PRUNE_EVERY - 1):
            events.add(xid(DAY_MS + later))
        assert begins([*events.find(limit=PRUNE_EVERY)])[-1] == DAY_MS


def test_events_survive_a_restart(tmp_path: Path) -> None:
    for begin in (1, 2):
        with contextlib.closing(ClusterDatabase(tmp_path / FILE)) as database:
            events = EventStore(database)
            events.add(xid(begin))
            database.sync()
            assert len(events.find()) == begin
