"""Lines and bundles come back bit for bit, whatever stays, moves or is missing in them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

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
from vigie.store.compression.codec import COLUMN_GROUP, QUICK, THOROUGH, Floats, is_dense, seal
from vigie.store.compression.column_groups import fill_column_group, pack_column_groups
from vigie.store.compression.magnitudes import compress_vectors, decompress_vectors, fill_vectors
from vigie.store.errors import CorruptionError

special = st.sampled_from([NAN_BITS, STALE_BITS, ABSENT_BITS, 0, 1 << 63])
words = special | st.integers(0, 2**64 - 1) | st.floats().map(lambda x: int(np.float64(x).view(np.uint64)))


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Floats, list[tuple[int, int]]]:
    rows, heights = draw(st.integers(1, 9)), draw(st.lists(st.integers(1, 20), min_size=1, max_size=4))
    vectors = []
    for _ in range(sum(heights)):
        kind = draw(st.sampled_from(["steady", "counter", "any"]))
        if kind == "steady":
            vectors.append(np.full(rows, draw(words), dtype=np.uint64).view(np.float64))
        elif kind == "counter":
            step, decimals = draw(st.integers(1, 99)), draw(st.integers(0, 3))
            vectors.append(np.arange(rows) * step / 10**decimals)
        else:
            some = draw(st.lists(words, min_size=rows, max_size=rows))
            vectors.append(np.array(some, dtype=np.uint64).view(np.float64))
    edges = [0, *np.cumsum(heights).tolist()]
    return np.array(vectors), list(pairwise(edges))


@given(matrices(), st.sampled_from([QUICK, THOROUGH]), st.data())
def test_any_lines_come_back(
    given_lines: tuple[Floats, list[tuple[int, int]]], level: int, data: st.DataObject
) -> None:
    vectors, metrics = given_lines
    rows = vectors.shape[1]
    for blob, (start, stop) in zip(pack_column_groups(vectors, metrics, level), metrics, strict=True):
        part = vectors[start:stop].view(np.uint64)
        assert is_dense(blob) == (np.uint64(ABSENT_BITS) not in part)
        first = data.draw(st.integers(0, rows - 1))
        last = data.draw(st.integers(first + 1, rows))
        some = data.draw(
            st.none() | st.lists(st.integers(0, stop - start - 1), unique=True, min_size=1).map(sorted)
        )
        wanted = None if some is None else np.array(some, dtype=np.intp)
        out = np.empty((stop - start if some is None else len(some), last - first))
        fill_column_group(blob, stop - start, rows, wanted, first, last, out)
        expected = (part if wanted is None else part[wanted])[:, first:last]
        assert out.view(np.uint64).tolist() == expected.tolist()


def test_lines_of_many_sorts_side_by_side_are_pressed_each_by_its_own() -> None:
    steps = np.random.default_rng(1).integers(0, 100, (40, 200)).cumsum(axis=1)
    vectors = np.concatenate([steps, steps / 100, steps * 4096.0, np.full((40, 200), 0.3)])
    (blob,) = pack_column_groups(vectors, [(0, len(vectors))], THOROUGH)
    assert len(blob) < 0.7 * vectors.size  # three quarters of them move, by six and a half bits


@pytest.mark.parametrize("wanted", [None, [7], [3, 4, 50, 99], list(range(0, 100, 3)), list(range(5, 95))])
def test_lines_that_climb_and_lines_that_waver_come_back_side_by_side(wanted: list[int] | None) -> None:
    chance = np.random.default_rng(2)
    vectors = chance.integers(-1000, 1000, (100, 64)).astype(np.float64)
    vectors[::3] = np.abs(vectors[::3]).cumsum(axis=1) * 4096
    vectors[1::9] /= 10
    (blob,) = pack_column_groups(vectors, [(0, 100)], QUICK)
    some = None if wanted is None else np.array(wanted, dtype=np.intp)
    out = np.empty((100 if wanted is None else len(wanted), 64))
    fill_column_group(blob, 100, 64, some, 0, 64, out)
    assert out.tolist() == (vectors if some is None else vectors[some]).tolist()


def test_small_numbers_beside_large_ones_cost_what_they_cost_alone() -> None:
    chance = np.random.default_rng(1)
    small, large = chance.integers(0, 4, (24, 400)), chance.integers(0, 10**9, (24, 400))
    mixed = np.stack([small, large], axis=1).reshape(48, 400)
    alone = len(compress_vectors(small, THOROUGH)) + len(compress_vectors(large, THOROUGH))
    assert len(compress_vectors(mixed, THOROUGH)) < 1.02 * alone


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32))
def test_lines_of_any_sizes_come_back_in_their_order(height: int, columns: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    sizes = 2 ** chance.integers(0, 62, (height, 1))
    vectors = chance.integers(-sizes, sizes, (height, columns))
    pressed, some = compress_vectors(vectors, QUICK), np.sort(chance.permutation(height)[: height // 2])
    assert decompress_vectors(pressed, height, columns).tolist() == vectors.tolist()
    few = np.empty((len(some), columns), dtype=np.int64)
    fill_vectors(pressed, some, few)
    assert few.tolist() == vectors[some].tolist()


def test_a_line_that_never_changes_is_one_number() -> None:
    (blob,) = pack_column_groups(np.full((1, 100_000), 0.1), [(0, 1)], THOROUGH)
    assert len(blob) < 40


blobs_of_any_size = st.lists(st.binary(max_size=20) | st.integers(0, 3 * ROW_BYTES).map(bytes), max_size=12)


def _cut(places: BlobIndex, rows: Mapping[int, bytes], blob: int) -> bytes:
    place = places.locate(blob)
    return place.cut([rows[row] for row in place.rows])


@given(blobs_of_any_size)
def test_bundled_blobs_are_cut_out_again(blobs: list[bytes]) -> None:
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
def test_garbage_in_place_of_places_and_rows_is_said(packed: bytes, count: int, rows: list[bytes]) -> None:
    places = BlobIndex(packed, count)
    assert len(places.find_faults(dict(enumerate(rows)))) >= len(places) - sum(len(row) // 6 for row in rows)
    with pytest.raises(CorruptionError):
        places.locate(len(places))


def test_a_whole_bundle_has_no_faults() -> None:
    rows, packed = pack_blobs(
        [seal(COLUMN_GROUP, 0, b"abc"), seal(COLUMN_GROUP, 0, bytes(ROW_BYTES)), seal(COLUMN_GROUP, 0, b"")]
    )
    assert BlobIndex(packed, len(rows)).find_faults(dict(enumerate(rows))) == []
    assert "a row is missing" in BlobIndex(packed, len(rows)).find_faults({0: rows[0]})
