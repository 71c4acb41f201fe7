"""Lines and bundles come back bit for bit, whatever stays, moves or is missing in them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.model.values import ABSENT_BITS, NAN_BITS, STALE_BITS
from vigie.store.bundles import FULL, Places, bundled
from vigie.store.codec import QUICK, STEADY, THOROUGH, Floats, is_dense, seal
from vigie.store.errors import Damaged
from vigie.store.lines import fill_lines, pack_lines

special = st.sampled_from([NAN_BITS, STALE_BITS, ABSENT_BITS, 0, 1 << 63])
words = special | st.integers(0, 2**64 - 1) | st.floats().map(lambda x: int(np.float64(x).view(np.uint64)))


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Floats, list[tuple[int, int]]]:
    rows, heights = draw(st.integers(1, 9)), draw(st.lists(st.integers(1, 20), min_size=1, max_size=4))
    lines = []
    for _ in range(sum(heights)):
        kind = draw(st.sampled_from(["steady", "counter", "any"]))
        if kind == "steady":
            lines.append(np.full(rows, draw(words), dtype=np.uint64).view(np.float64))
        elif kind == "counter":
            step, decimals = draw(st.integers(1, 99)), draw(st.integers(0, 3))
            lines.append(np.arange(rows) * step / 10**decimals)
        else:
            some = draw(st.lists(words, min_size=rows, max_size=rows))
            lines.append(np.array(some, dtype=np.uint64).view(np.float64))
    edges = [0, *np.cumsum(heights).tolist()]
    return np.array(lines), list(pairwise(edges))


@given(matrices(), st.sampled_from([QUICK, THOROUGH]), st.data())
def test_any_lines_come_back(
    given_lines: tuple[Floats, list[tuple[int, int]]], level: int, data: st.DataObject
) -> None:
    lines, metrics = given_lines
    rows = lines.shape[1]
    for blob, (start, stop) in zip(pack_lines(lines, metrics, level), metrics, strict=True):
        part = lines[start:stop].view(np.uint64)
        assert is_dense(blob) == (np.uint64(ABSENT_BITS) not in part)
        first = data.draw(st.integers(0, rows - 1))
        last = data.draw(st.integers(first + 1, rows))
        some = data.draw(
            st.none() | st.lists(st.integers(0, stop - start - 1), unique=True, min_size=1).map(sorted)
        )
        wanted = None if some is None else np.array(some, dtype=np.intp)
        out = np.empty((stop - start if some is None else len(some), last - first))
        fill_lines(blob, stop - start, rows, wanted, first, last, out)
        expected = (part if wanted is None else part[wanted])[:, first:last]
        assert out.view(np.uint64).tolist() == expected.tolist()


def test_a_line_that_never_changes_is_one_number() -> None:
    (blob,) = pack_lines(np.full((1, 100_000), 0.1), [(0, 1)], THOROUGH)
    assert blob[0] == STEADY
    assert len(blob) < 20


@given(st.lists(st.binary(max_size=20) | st.integers(0, 3 * FULL).map(bytes), max_size=12))
def test_bundled_blobs_are_cut_out_again(blobs: list[bytes]) -> None:
    rows, packed = bundled(blobs)
    places = Places(packed)
    found = [
        places.cut(rows[places.row(i)] if places.row(i) < len(rows) else b"", i) for i in range(len(places))
    ]
    assert found == blobs
    assert all(len(row) >= FULL for row in rows[:-1])


@given(st.binary(max_size=40), st.lists(st.binary(max_size=60), max_size=3))
def test_garbage_in_place_of_places_and_rows_is_said(packed: bytes, rows: list[bytes]) -> None:
    places = Places(packed)
    assert len(places.faults(dict(enumerate(rows)))) >= len(places) - sum(len(row) // 6 for row in rows)
    with pytest.raises(Damaged):
        places.row(len(places))


def test_a_whole_bundle_has_no_faults() -> None:
    rows, packed = bundled([seal(STEADY, 0, b"abc"), seal(STEADY, 0, bytes(FULL)), seal(STEADY, 0, b"")])
    assert Places(packed).faults(dict(enumerate(rows))) == []
    assert Places(packed).faults({0: rows[0]}) == ["a row is missing"]
