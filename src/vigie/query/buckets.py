"""Buckets: aggregates of a series over equal time ranges, and over ranges of several buckets.

A bucket is identified by its end and is left-open, like a range of Prometheus 3: a range that starts and ends
at bucket boundaries holds exactly their samples.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vigie.query.arrays import Flags, Floats, Indices, Times

Cells = NDArray[Any]
MAX_SPARSE_COLUMNS = 32  # non-empty columns up to which summing one by one is faster


@dataclass(frozen=True)
class Buckets:
    """One row per series, or a single row if all are equal; one column per bucket.

    `lost` is the sum of the values before each counter reset in the bucket, so that the increase is
    last - first + lost. Without samples, count, total and lost are 0, and the other values NaN.
    """

    ends: Times
    count: Floats
    first_at: Times
    last_at: Times
    last: Floats
    first: Floats
    low: Floats
    high: Floats
    total: Floats
    lost: Floats

    def columns(self, chosen: slice) -> Buckets:
        cells = {name: getattr(self, name)[:, chosen] for name in FIELDS}
        return Buckets(self.ends[chosen], **cells)

    def rows(self, chosen: Indices) -> Buckets:
        cells = {name: getattr(self, name) for name in FIELDS}
        return Buckets(
            self.ends, **{name: cell if len(cell) == 1 else cell[chosen] for name, cell in cells.items()}
        )


FIELDS = tuple(field.name for field in fields(Buckets) if field.name != "ends")
EMPTY_VALUES: dict[str, float | int] = {
    "count": 0.0,
    "first_at": 0,
    "last_at": 0,
    "last": np.nan,
    "first": np.nan,
    "low": np.nan,
    "high": np.nan,
    "total": 0.0,
    "lost": 0.0,
}


def empty_buckets(field: str, rows: int, buckets: int) -> Cells:
    """Return the cells of a field for buckets without samples."""
    whole = field in ("first_at", "last_at")
    return np.full((rows, buckets), EMPTY_VALUES[field], dtype=np.int64 if whole else np.float64)


def stack_buckets(parts: list[Buckets], heights: list[int]) -> Buckets:
    """Concatenate series that have the same buckets; `heights` are their numbers."""
    if len(parts) == 1:
        return parts[0]
    width = len(parts[0].ends)
    cells = {}
    for name in FIELDS:
        some: list[Cells] = [getattr(part, name) for part in parts]
        if all(len(one) == 1 and np.array_equal(one, some[0], equal_nan=True) for one in some):
            cells[name] = some[0]
        else:
            high = [np.broadcast_to(one, (height, width)) for one, height in zip(some, heights, strict=True)]
            cells[name] = np.concatenate(high)
    return Buckets(parts[0].ends, **cells)


def merge_spans(buckets: Buckets, low: Indices, high: Indices, wanted: Collection[str] = FIELDS) -> Buckets:
    """Merge, for each pair, the buckets from low (in) to high (out), with at least these fields."""
    filled = buckets.count > 0
    after, before = _next_filled(filled), _last_filled(filled)
    start, stop = after[:, low], before[:, high - 1]
    some = start < high
    start, stop = np.where(some, start, 0), np.maximum(stop, 0)
    ends = {
        "first_at": _pick(buckets.first_at, start),
        "last_at": _pick(buckets.last_at, stop),
        "first": _pick(buckets.first, start),
        "last": _pick(buckets.last, stop),
    }
    if not some.all():
        ends = {name: np.where(some, cells, EMPTY_VALUES[name]) for name, cells in ends.items()}

    def reduce_field(operation: np.ufunc, name: str) -> Floats:
        if name not in wanted:
            return empty_buckets(name, 1, len(low))
        return _reduce(operation, getattr(buckets, name), low, high)

    needs_lost = "lost" in wanted
    return Buckets(
        buckets.ends[high - 1],
        count=_reduce(np.add, buckets.count, low, high),
        low=reduce_field(np.fmin, "low"),
        high=reduce_field(np.fmax, "high"),
        total=reduce_field(np.add, "total"),
        lost=_sum_lost(buckets, filled, before, start, low, high)
        if needs_lost
        else reduce_field(np.add, "lost"),
        **ends,
    )


def _sum_lost(
    buckets: Buckets, filled: Flags, before: Indices, start: Indices, low: Indices, high: Indices
) -> Floats:
    """Sum the reset losses, within buckets and between consecutive buckets with samples."""
    inner = _sum(buckets.lost, low, high)
    previous = np.full_like(before, -1)
    previous[:, 1:] = before[:, :-1]
    carried = _pick(buckets.last, np.maximum(previous, 0))
    reset = (buckets.first < carried) & filled & (previous >= 0)
    if not reset.any():
        return inner
    between = np.where(reset, carried, 0.0)
    endless = np.isinf(between)
    if endless.any():
        between[endless] = 0.0
        inner = inner + np.where(_sum_inside(endless.astype(np.float64), start, low, high) > 0, np.inf, 0.0)
    across = _sum_inside(between, start, low, high)
    some = _reduce(np.add, buckets.count, low, high) > 0
    return inner + np.where(some, across, 0.0)


def _sum_inside(between: Floats, start: Indices, low: Indices, high: Indices) -> Floats:
    """Sum over each span except for its first bucket with samples, whose predecessor is outside."""
    inside: Floats = _sum(between, low, high) - _pick(between, start)
    return inside


def _next_filled(filled: Flags) -> Indices:
    """Return, for each bucket, the first at or after it with samples; the number of buckets if none."""
    width = filled.shape[1]
    places = np.where(filled, np.arange(width), width)
    following: Indices = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
    return following


def _last_filled(filled: Flags) -> Indices:
    """Return, for each bucket, the last at or before it with samples; -1 if none."""
    places = np.where(filled, np.arange(filled.shape[1]), -1)
    preceding: Indices = np.maximum.accumulate(places, axis=1)
    return preceding


def _pick(cells: Cells, places: Indices) -> Cells:
    if len(places) == 1:
        same: Cells = np.take(cells, places[0], axis=1)
        return same
    cells = np.broadcast_to(cells, (len(places), cells.shape[1]))
    picked: Cells = np.take_along_axis(cells, places, axis=1)
    return picked


def _sum(cells: Floats, low: Indices, high: Indices) -> Floats:
    """Sum over each span; if most columns are zero, only the others are added."""
    columns = np.flatnonzero(cells.any(axis=0))
    if len(columns) > MAX_SPARSE_COLUMNS:
        return _reduce(np.add, cells, low, high)
    total = np.zeros((len(cells), len(low)))
    for column in columns.tolist():
        inside = np.flatnonzero((low <= column) & (column < high))
        total[:, inside] += cells[:, column, np.newaxis]
    return total


def _reduce(operation: np.ufunc, cells: Floats, low: Indices, high: Indices) -> Floats:
    padded = np.concatenate([cells, cells[:, :1]], axis=1)  # so that an end may be after the last
    reduce_field: Floats = operation.reduceat(padded, np.column_stack([low, high]).ravel(), axis=1)[:, ::2]
    return reduce_field
