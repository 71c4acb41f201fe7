"""Vectors come back bit for bit, whatever stays, moves or is missing in them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.model.nan import ABSENT_BITS, NAN_BITS, STALE_BITS
from vigie.store.compression.codec import QUICK, THOROUGH, Floats, is_dense
from vigie.store.compression.column_groups import fill_column_group, pack_column_groups

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
def test_any_vectors_come_back(
    given_vectors: tuple[Floats, list[tuple[int, int]]], level: int, data: st.DataObject
) -> None:
    vectors, metrics = given_vectors
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


def test_vectors_of_many_sorts_side_by_side_are_compressed_each_by_its_own() -> None:
    steps = np.random.default_rng(1).integers(0, 100, (40, 200)).cumsum(axis=1)
    vectors = np.concatenate([steps, steps / 100, steps * 4096.0, np.full((40, 200), 0.3)])
    (blob,) = pack_column_groups(vectors, [(0, len(vectors))], THOROUGH)
    assert len(blob) < 0.7 * vectors.size  # three quarters of them move, by six and a half bits


@pytest.mark.parametrize("wanted", [None, [7], [3, 4, 50, 99], list(range(0, 100, 3)), list(range(5, 95))])
def test_vectors_that_climb_and_vectors_that_waver_come_back_side_by_side(wanted: list[int] | None) -> None:
    chance = np.random.default_rng(2)
    vectors = chance.integers(-1000, 1000, (100, 64)).astype(np.float64)
    vectors[::3] = np.abs(vectors[::3]).cumsum(axis=1) * 4096
    vectors[1::9] /= 10
    (blob,) = pack_column_groups(vectors, [(0, 100)], QUICK)
    some = None if wanted is None else np.array(wanted, dtype=np.intp)
    out = np.empty((100 if wanted is None else len(wanted), 64))
    fill_column_group(blob, 100, 64, some, 0, 64, out)
    assert out.tolist() == (vectors if some is None else vectors[some]).tolist()


def test_a_vector_that_never_changes_is_one_number() -> None:
    (blob,) = pack_column_groups(np.full((1, 100_000), 0.1), [(0, 1)], THOROUGH)
    assert len(blob) < 40
