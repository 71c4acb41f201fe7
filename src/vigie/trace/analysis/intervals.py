"""Sets of half-open intervals in integer nanoseconds: union, intersection, difference, length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
CHUNK_EVENTS = 262_144  # merged at once: what sorting needs stays small beside the events themselves


class Intervals(NamedTuple):
    """Disjoint intervals in ascending order."""

    starts: Times
    ends: Times

    @property
    def length(self) -> int:
        return int((self.ends - self.starts).sum())

    def clip(self, start: int, end: int) -> Intervals:
        starts, ends = np.clip(self.starts, start, end), np.clip(self.ends, start, end)
        keep = ends > starts
        return Intervals(starts[keep], ends[keep])

    def measure(self, edges: Times) -> Times:
        """Return how much of each range between two neighbouring edges is covered."""
        if not len(self.starts):
            return np.zeros(len(edges) - 1, np.int64)
        covered = np.concatenate(([0], np.cumsum(self.ends - self.starts)))
        place = np.searchsorted(self.starts, edges, side="right")
        beyond = np.where(place > 0, np.maximum(self.ends[np.maximum(place, 1) - 1] - edges, 0), 0)
        return np.diff(covered[place] - beyond)

    def __or__(self, other: Intervals) -> Intervals:
        return union((self, other))

    def __and__(self, other: Intervals) -> Intervals:
        first = np.searchsorted(other.ends, self.starts, side="right")
        counts = np.searchsorted(other.starts, self.ends, side="left") - first
        counts = np.maximum(counts, 0)
        mine = np.repeat(np.arange(len(counts)), counts)
        theirs = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts - first, counts)
        starts = np.maximum(self.starts[mine], other.starts[theirs])
        return Intervals(starts, np.minimum(self.ends[mine], other.ends[theirs]))

    def __sub__(self, other: Intervals) -> Intervals:
        if not len(self.starts) or not len(other.starts):
            return self
        return self & other.complement(int(self.starts[0]), int(self.ends[-1]))

    def longest(self, count: int) -> list[tuple[int, int]]:
        """Return the longest intervals, in no order."""
        lengths = self.ends - self.starts
        chosen = np.argpartition(lengths, -count)[-count:] if len(lengths) > count else slice(None)
        return [(int(a), int(b)) for a, b in zip(self.starts[chosen], self.ends[chosen], strict=True)]

    def complement(self, start: int, end: int) -> Intervals:
        """Return what the intervals leave of the range."""
        inside = self.clip(start, end)
        starts = np.concatenate((np.array([start], np.int64), inside.ends))
        ends = np.concatenate((inside.starts, np.array([end], np.int64)))
        keep = ends > starts
        return Intervals(starts[keep], ends[keep])


EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def union(parts: Iterable[tuple[Times, Times]]) -> Intervals:
    """Return the union of any intervals, given some at a time; those without a length are left out."""
    merged = [_merge(starts, ends) for starts, ends in parts]
    if len(merged) < 2:
        return merged[0] if merged else EMPTY
    return _merge(np.concatenate([m.starts for m in merged]), np.concatenate([m.ends for m in merged]))


def _merge(starts: Times, ends: Times) -> Intervals:
    keep = ends > starts
    if not keep.all():
        starts, ends = starts[keep], ends[keep]
    if not len(starts):
        return EMPTY
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        del order
    ends = np.maximum.accumulate(ends)
    first = np.concatenate(([True], starts[1:] > ends[:-1]))
    return Intervals(starts[first], ends[np.concatenate((first[1:], [True]))])
