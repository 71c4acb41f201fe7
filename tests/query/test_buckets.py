"""Buckets of random samples are what a plain computation says, and so are wider spans of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vigie.model.nan import ABSENT, NAN, STALE, is_absent, is_stale
from vigie.query.buckets import FIELDS, MAX_SPARSE_COLUMNS, Buckets, merge_spans
from vigie.store.rollups.downsampling import bucket_ends, downsample
from vigie.store.rollups.page_codec import decode_page, encode_page
from vigie.store.series.layout import Layouts

WIDTH, BUCKETS, SAMPLES = 10, 6, 16
numbers = st.integers(0, 9).map(float) | st.sampled_from([NAN, STALE, ABSENT, math.inf, -1.5])
lines = st.lists(st.lists(numbers, min_size=SAMPLES, max_size=SAMPLES), min_size=1, max_size=3)
moments = st.permutations(range(1, WIDTH * BUCKETS + 1)).map(lambda all_times: sorted(all_times[:SAMPLES]))


def plain(times: Sequence[int], values: Sequence[float], begin: int, end: int) -> dict[str, float]:
    """Return the fields of one bucket."""
    inside = [(t, v) for t, v in zip(times, values, strict=True) if begin < t <= end]
    samples = [(t, v) for t, v in inside if not is_absent(v) and not is_stale(v)]
    known = [v for _, v in samples]
    comparable = [v for v in known if not math.isnan(v)]
    lost = sum(before for before, after in itertools.pairwise(known) if after < before)
    return {
        "count": len(known),
        "first_at": samples[0][0] if samples else 0,
        "last_at": samples[-1][0] if samples else 0,
        "first": known[0] if known else math.nan,
        "last": known[-1] if known else math.nan,
        "low": min(comparable, default=math.nan),
        "high": max(comparable, default=math.nan),
        "total": math.fsum(known) if known and not math.isnan(sum(known)) else sum(known),
        "lost": lost,
    }


def check(buckets: Buckets, row: int, column: int, expected: dict[str, float]) -> None:
    for name in FIELDS:
        cells = getattr(buckets, name)
        if expected["count"] == 0 and name in ("first_at", "last_at"):
            continue  # there is no such time
        assert cells[row if len(cells) > 1 else 0, column] == pytest.approx(expected[name], nan_ok=True), name


@settings(max_examples=60)
@given(moments, lines)
def test_buckets_are_what_a_plain_computation_says(times: list[int], values: list[list[float]]) -> None:
    ends = bucket_ends(0, WIDTH * BUCKETS, WIDTH)
    buckets = downsample(np.array(times), np.array(values), ends)
    for row, line in enumerate(values):
        for column, end in enumerate(ends.tolist()):
            check(buckets, row, column, plain(times, line, end - WIDTH, end))


@settings(max_examples=60)
@given(
    moments,
    lines,
    st.integers(0, BUCKETS - 1),
    st.integers(1, BUCKETS),
    st.sampled_from([0, MAX_SPARSE_COLUMNS]),
)
def test_spans_of_buckets_are_what_their_samples_say(
    times: list[int], values: list[list[float]], low: int, count: int, few: int
) -> None:
    high = min(BUCKETS, low + count)
    buckets = downsample(np.array(times), np.array(values), bucket_ends(0, WIDTH * BUCKETS, WIDTH))
    with np.errstate(all="ignore"), patch("vigie.query.buckets.MAX_SPARSE_COLUMNS", few):
        wide = merge_spans(buckets, np.array([low]), np.array([high]))
    for row, line in enumerate(values):
        check(wide, row, 0, plain(times, line, low * WIDTH, high * WIDTH))


@settings(max_examples=60)
@given(moments, lines)
def test_a_page_gives_back_its_buckets_bit_for_bit(times: list[int], values: list[list[float]]) -> None:
    buckets = downsample(np.array(times), np.array(values), bucket_ends(0, WIDTH * BUCKETS, WIDTH))
    layout = Layouts().of(tuple((("__name__", "ab"[i % 2]), ("i", str(i))) for i in range(len(values))))
    order = layout.metric_order
    page = encode_page(Layouts().order_by_metric(layout), buckets.rows(order), WIDTH)
    again = decode_page(page, np.arange(len(values)), WIDTH, FIELDS)
    for name in FIELDS:
        shape = (len(values), BUCKETS)
        if name == "total":  # is kept to 13 digits
            ours, theirs = (np.broadcast_to(each.total, shape) for each in (again, buckets.rows(order)))
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
            continue
        bits, expected = (
            np.ascontiguousarray(np.broadcast_to(getattr(each, name), shape)).view(np.uint64)
            for each in (again, buckets.rows(order))
        )
        # Which NaN stands in a bucket without samples means nothing.
        empty = np.broadcast_to(buckets.rows(order).count == 0, shape)
        assert ((bits == expected) | (empty & (name not in ("count", "lost")))).all(), name
