"""The tables of links are bounded in bytes, each connection's and all together."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import pytest

from vigie.model import gauge
from vigie.model.table import Series
from vigie.server.ingest.link_tables import LinkTables, SharedTables, estimate_bytes
from vigie.wire import table_codec
from vigie.wire.messages import DeltaMessage, MalformedMessageError, TableMessage

WORK = gauge("work", "What is done.", "pid")
SIZE = 1000


def series(first: int, count: int = SIZE) -> tuple[Series, ...]:
    return tuple((WORK, (f"{pid:08}",)) for pid in range(first, first + count))


def message(number: int, first: int) -> TableMessage:
    return TableMessage(number, f"source{number}", 1, table_codec.encode_layout(series(first)))


def delta(number: int, base: int, first: int, count: int, ended: list[int]) -> DeltaMessage:
    added = table_codec.encode_layout(series(first, count))
    return DeltaMessage(number, base, 2, added, list(range(count)), ended)


ONE_TABLE = estimate_bytes(series(0)) + 8 * SIZE


def test_estimate_is_what_python_takes() -> None:
    layout = table_codec.encode_layout(series(0, 20_000))
    tracemalloc.start()
    try:
        decoded = table_codec.decode_layout(layout)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.7 < estimate_bytes(decoded) / taken < 1.4


def test_one_connection_takes_so_many_bytes_and_no_more() -> None:
    shared = SharedTables()
    tables = LinkTables(shared, frozenset(("ours",)), most=3 * ONE_TABLE)
    for number in range(3):
        tables.announce(message(number, number * SIZE))
    with pytest.raises(MalformedMessageError, match="tables of this node take more than"):
        tables.announce(message(3, 3 * SIZE))
    tables.announce(message(0, 9 * SIZE))  # in the place of another it has room


def test_all_connections_together_are_bounded_and_what_is_equal_counts_once() -> None:
    shared = SharedTables(most=3 * ONE_TABLE)
    links = [LinkTables(shared, frozenset(("ours",))) for _ in range(20)]
    for link in links:
        link.announce(message(0, 0))
    links[0].announce(message(1, SIZE))
    with pytest.raises(MalformedMessageError, match="tables of all nodes take more than"):
        links[1].announce(message(1, 2 * SIZE))


def test_closed_connection_gives_all_back() -> None:
    shared = SharedTables(most=3 * ONE_TABLE)
    for attempt in range(20):
        link = LinkTables(shared, frozenset(("ours",)))
        link.announce(message(0, 2 * attempt * SIZE))
        link.announce(message(1, (2 * attempt + 1) * SIZE))
        assert shared.bytes <= 3 * ONE_TABLE
        link.close()
        assert link.bytes == 0
    # What is left is kept for who comes again, and makes way.
    assert shared.bytes <= 3 * ONE_TABLE


def test_layout_that_made_way_leaves_memory() -> None:
    shared = SharedTables(most=2 * ONE_TABLE)
    link = LinkTables(shared, frozenset(("ours",)))
    link.announce(message(0, 0))
    gone = weakref.ref(shared.layout(message(0, 0).layout))
    link.close()
    other = LinkTables(shared, frozenset(("ours",)))
    other.announce(message(0, SIZE))
    other.announce(message(0, 2 * SIZE))
    gc.collect()
    assert gone() is None


def test_table_that_changes_for_ever_stays_within_what_its_series_take() -> None:
    shared = SharedTables()
    link = LinkTables(shared, frozenset(("ours",)))
    link.announce(message(0, 0))
    for turn in range(1, 200):
        link.announce(delta(0, 0, turn * SIZE, 100, list(range(SIZE - 100, SIZE))))
    assert link.bytes <= 3 * ONE_TABLE
    link.close()
    assert link.bytes == 0


def test_table_that_is_learned_after_the_end_is_not_kept() -> None:
    shared = SharedTables()
    link = LinkTables(shared, frozenset(("ours",)))
    link.close()
    with pytest.raises(MalformedMessageError, match="closed"):
        link.announce(message(0, 0))
    assert link.bytes == 0


def test_layout_with_more_series_than_any_machine_is_refused_before_it_is_decoded() -> None:
    tiny = table_codec.encode_layout([(gauge("x", ""), ())] * (table_codec.MAX_SERIES + 1))
    with pytest.raises(MalformedMessageError, match="invalid layout"):
        table_codec.decode_layout(tiny)
