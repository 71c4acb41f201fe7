"""A metric in several tables of a node: its series are each in one group, whichever table they came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.frames import frame
from vigie.query.storage import Matcher, SeriesGroup
from vigie.store.blocks.blob_packing import ROW_BYTES, BlobIndex, pack_blobs
from vigie.store.blocks.blob_reader import BlobReader
from vigie.store.errors import CorruptionError
from vigie.store.heads.stream import HeadLimits
from vigie.store.store import Store

POWER = [Matcher("__name__", "=", "power_watts")]


def _put(store: Store, node: str, time: int, source: str, sensors: str) -> None:
    store.append({"instance": node, "job": "node"}, frame(time, sensors, [1.0] * 2 * len(sensors), source))


def _sensors(groups: list[SeriesGroup], node: str) -> list[list[str]]:
    return sorted(
        sorted(labels["sensor"] for labels in group.labels)
        for group in groups
        if group.labels[0]["instance"] == node
    )


def test_tables_with_a_metric_in_common_are_joined_only_where_they_share_a_series(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for node in ("n1", "n2"):
            _put(store, node, 1000, "one", "ab")
            _put(store, node, 2000, "two", "cd")
        _put(store, "n3", 1000, "one", "ab")
        _put(store, "n3", 2000, "two", "bc")
        groups = store.select(POWER, 0, 3000)
        assert _sensors(groups, "n1") == _sensors(groups, "n2") == [["a", "b"], ["c", "d"]]
        assert _sensors(groups, "n3") == [["a"], ["b"], ["c"]]
        assert [group.times.tolist() for group in groups if group.labels[0]["sensor"] == "b"] == [
            [1000, 2000]
        ]


def test_values_of_a_metric_are_read_from_disk_once_for_all_chunks_that_follow() -> None:
    reads: list[tuple[int, ...]] = []

    def read(_: str, *numbers: int) -> list[tuple[int, bytes]]:
        reads.append(numbers)
        return [(number, b"%d" % number) for number in numbers if number != 33]

    places = b"".join((ROW_BYTES * row).to_bytes(4, "little") for row in range(4))  # each in a row of its own
    shelf = BlobReader(read, [(first, BlobIndex(places, 4)) for first in (10, 20, 30)])
    assert [shelf.blob(place, 2) for place in (1, 2)] == [b"22", b"32"]
    assert reads == [(22, 32)]
    assert shelf.blob(0, 2) == b"12"
    assert shelf.blob(1, 2) == b"22"  # again, after it was handed out
    with pytest.raises(CorruptionError, match="33"):
        shelf.blob(2, 3)


def test_a_blob_that_ends_in_the_next_row_is_put_together() -> None:
    blobs = [bytes([i]) * ROW_BYTES for i in range(4)]
    rows, places = pack_blobs(blobs)
    stored = dict(enumerate(rows, 10))
    shelf = BlobReader(
        lambda _, *numbers: [(each, stored[each]) for each in numbers], [(10, BlobIndex(places, len(rows)))]
    )
    assert [shelf.blob(0, i) for i in range(4)] == blobs


def test_layouts_that_a_query_saw_are_not_read_from_disk_again(tmp_path: Path) -> None:
    head_limits = HeadLimits(cached_series=1)
    with Store(tmp_path, head_limits=head_limits) as store:
        for node in ("n1", "n2", "n3"):
            _put(store, node, 1000, "one", node)  # no two have the same series
        store.flush()
    with Store(tmp_path, head_limits=head_limits) as store:
        reads: list[str] = []
        store._blocks.database._reader.set_trace_callback(reads.append)
        for _ in range(2):
            assert len(store.select(POWER, 0, 3000)) == 3
            assert store.estimate_samples(POWER, 0, 3000) == 6
    assert len([text for text in reads if "FROM layout" in text]) == 3
