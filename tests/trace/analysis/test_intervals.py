"""Algebra of intervals, compared with sets of single nanoseconds."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vigie.trace.analysis.intervals import Intervals, union

PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12)


def build(pairs: list[tuple[int, int]]) -> Intervals:
    starts, ends = (np.array([p[i] for p in pairs], np.int64) for i in (0, 1))
    return union([(starts, ends)])


def expand(intervals: Intervals) -> set[int]:
    covered = [set(range(a, b)) for a, b in zip(intervals.starts, intervals.ends, strict=True)]
    assert sum(map(len, covered)) == len(set().union(*covered)), "intervals overlap"
    return set().union(*covered)


def points(pairs: list[tuple[int, int]]) -> set[int]:
    return {point for a, b in pairs for point in range(a, b)}


@given(PAIRS, PAIRS)
def test_operators_are_those_of_sets(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    a, b = build(left), build(right)
    assert expand(a) == points(left)
    assert expand(a | b) == points(left) | points(right)
    assert expand(a & b) == points(left) & points(right)
    assert expand(a - b) == points(left) - points(right)
    assert a.length == len(points(left))


@given(PAIRS, st.integers(0, 60), st.integers(0, 60))
def test_clip_and_complement_divide_the_range(pairs: list[tuple[int, int]], start: int, end: int) -> None:
    inside, outside = build(pairs).clip(start, end), build(pairs).complement(start, end)
    assert expand(inside) | expand(outside) == set(range(start, end))
    assert not expand(inside) & expand(outside)


@given(PAIRS, st.lists(st.integers(0, 60), min_size=2, max_size=8))
def test_measure_counts_what_lies_between_edges(pairs: list[tuple[int, int]], edges: list[int]) -> None:
    edges.sort()
    measured = build(pairs).measure(np.array(edges, np.int64))
    expected = [len(points(pairs) & set(range(a, b))) for a, b in pairwise(edges)]
    assert list(measured) == expected


def test_longest_are_given() -> None:
    intervals = build([(0, 1), (2, 9), (10, 12), (20, 25)])
    assert sorted(intervals.longest(2)) == [(2, 9), (20, 25)]
    assert len(intervals.longest(9)) == 4
