"""Packed blobs come back bit for bit, and damage is reported."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.model.nan import ABSENT_BITS, NAN_BITS, STALE_BITS
from vigie.store.blocks.blob_packing import (
    HEADER_BYTES,
    INLINE_BYTES,
    PAGE_BYTES,
    ROW_BYTES,
    BlobIndex,
    pack_blobs,
)
from vigie.store.compression.codec import COLUMN_GROUP, seal
from vigie.store.errors import CorruptionError

special = st.sampled_from([NAN_BITS, STALE_BITS, ABSENT_BITS, 0, 1 << 63])
words = special | st.integers(0, 2**64 - 1) | st.floats().map(lambda x: int(np.float64(x).view(np.uint64)))

blobs_of_any_size = st.lists(st.binary(max_size=20) | st.integers(0, 3 * ROW_BYTES).map(bytes), max_size=12)


def _cut(places: BlobIndex, rows: Mapping[int, bytes], blob: int) -> bytes:
    place = places.locate(blob)
    return place.cut([rows[row] for row in place.rows])


@given(blobs_of_any_size)
def test_packed_blobs_are_cut_out_again(blobs: list[bytes]) -> None:
    rows, packed = pack_blobs(blobs)
    places, there = BlobIndex(packed, len(rows)), {len(rows): b"", **dict(enumerate(rows))}
    assert [_cut(places, there, i) for i in range(len(places))] == blobs
    assert all((len(row) + HEADER_BYTES) % PAGE_BYTES == INLINE_BYTES for row in rows[:-1])


@pytest.mark.parametrize("rest", range(0, PAGE_BYTES, 61))
def test_a_blob_is_in_two_rows_at_most(rest: int) -> None:
    long = bytes(range(256)) * (ROW_BYTES // 256 + 8)
    for behind in range(0, PAGE_BYTES + INLINE_BYTES + 61, 61):
        blobs = [long[: ROW_BYTES + rest], long[:behind], b"end"]
        rows, packed = pack_blobs(blobs)
        places = BlobIndex(packed, len(rows))
        assert [_cut(places, dict(enumerate(rows)), i) for i in range(3)] == blobs


@given(st.binary(max_size=40), st.integers(0, 9), st.lists(st.binary(max_size=60), max_size=3))
def test_garbage_in_place_of_places_and_rows_is_reported(
    packed: bytes, count: int, rows: list[bytes]
) -> None:
    places = BlobIndex(packed, count)
    assert len(places.find_faults(dict(enumerate(rows)))) >= len(places) - sum(len(row) // 6 for row in rows)
    with pytest.raises(CorruptionError):
        places.locate(len(places))


def test_a_whole_pack_has_no_faults() -> None:
    rows, packed = pack_blobs(
        [seal(COLUMN_GROUP, 0, b"abc"), seal(COLUMN_GROUP, 0, bytes(ROW_BYTES)), seal(COLUMN_GROUP, 0, b"")]
    )
    assert BlobIndex(packed, len(rows)).find_faults(dict(enumerate(rows))) == []
    assert "a row is missing" in BlobIndex(packed, len(rows)).find_faults({0: rows[0]})
