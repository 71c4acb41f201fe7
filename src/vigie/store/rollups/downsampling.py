"""Builds buckets from raw samples; absent cells and stale markers are no samples, a real NaN is one."""

from __future__ import annotations

import numpy as np

from vigie.model.nan import STALE_BITS
from vigie.query.arrays import Flags, Indices
from vigie.query.buckets import FIELDS, Buckets, empty_buckets, stack_buckets
from vigie.store.compression.codec import Floats, Times, absent, bits

CELLS_PER_PART = 1 << 18  # processed at once: a few arrays of this size fit the processor's cache


def bucket_ends(start: int, stop: int, width: int) -> Times:
    """Return the ends of the buckets between two times, which are multiples of the width."""
    return np.arange(start + width, stop + 1, width, dtype=np.int64)


def downsample(times: Times, values: Floats, ends: Times) -> Buckets:
    """Return the buckets with these ends, which enclose all times."""
    places = np.searchsorted(ends, times)
    filled = np.unique(places)
    starts = np.searchsorted(places, filled)
    height = max(1, CELLS_PER_PART // max(1, len(times)))
    pieces = [values[top : top + height] for top in range(0, max(1, len(values)), height)]
    parts = [_downsample_part(times, np.ascontiguousarray(piece), ends[filled], starts) for piece in pieces]
    return spread_buckets(stack_buckets(parts, [len(piece) for piece in pieces]), ends)


def spread_buckets(buckets: Buckets, ends: Times) -> Buckets:
    """Return the same buckets among empty ones."""
    if len(ends) == len(buckets.ends):
        return buckets
    places = np.searchsorted(ends, buckets.ends)
    cells = {}
    for name in FIELDS:
        some = getattr(buckets, name)
        cells[name] = empty_buckets(name, len(some), len(ends))
        cells[name][:, places] = some
    return Buckets(ends, **cells)


def _downsample_part(times: Times, values: Floats, ends: Times, starts: Indices) -> Buckets:
    present = ~absent(values) & (bits(values) != np.uint64(STALE_BITS))
    if not len(times):
        return Buckets(ends, **{name: empty_buckets(name, 1, 0) for name in FIELDS})
    if present.all():
        return _downsample_dense(times, values, ends, starts)
    return _downsample_sparse(times, values, ends, starts, present)


def _downsample_dense(times: Times, values: Floats, ends: Times, starts: Indices) -> Buckets:
    stops = np.append(starts[1:], len(times)) - 1
    count = (stops - starts + 1).astype(np.float64)[np.newaxis]
    before = values[:, :-1]
    reset = values[:, 1:] < before
    reset[:, starts[1:] - 1] = False  # across buckets
    return _build_buckets(
        ends,
        count,
        times[starts][np.newaxis],
        times[stops][np.newaxis],
        values[:, stops],
        values[:, starts],
        np.fmin.reduceat(values, starts, axis=1),
        np.fmax.reduceat(values, starts, axis=1),
        np.add.reduceat(values, starts, axis=1),
        _sum_resets(reset, before, starts),
    )


def _downsample_sparse(times: Times, values: Floats, ends: Times, starts: Indices, present: Flags) -> Buckets:
    places = np.arange(len(times))
    lasts = np.where(present, places, -1)
    known = np.maximum.accumulate(lasts, axis=1)
    lasts = np.maximum.reduceat(lasts, starts, axis=1)
    firsts = np.minimum.reduceat(np.where(present, places, len(times)), starts, axis=1)
    some = lasts >= 0
    firsts, lasts = np.where(some, firsts, 0), np.maximum(lasts, 0)
    bucket_start = np.repeat(starts, np.diff(np.append(starts, len(times))))
    before = np.take_along_axis(values, np.maximum(known[:, :-1], 0), axis=1)
    reset = present[:, 1:] & (known[:, :-1] >= bucket_start[1:]) & (values[:, 1:] < before)
    values_or_nan = np.where(present, values, np.nan)
    return _build_buckets(
        ends,
        np.add.reduceat(present, starts, axis=1, dtype=np.float64),
        np.where(some, times[firsts], 0),
        np.where(some, times[lasts], 0),
        np.where(some, np.take_along_axis(values, lasts, axis=1), np.nan),
        np.where(some, np.take_along_axis(values, firsts, axis=1), np.nan),
        np.fmin.reduceat(values_or_nan, starts, axis=1),
        np.fmax.reduceat(values_or_nan, starts, axis=1),
        np.add.reduceat(np.where(present, values, 0.0), starts, axis=1),
        _sum_resets(reset, before, starts),
    )


def _sum_resets(reset: Flags, before: Floats, starts: Indices) -> Floats:
    if not reset.any():
        return np.zeros((1, len(starts)))
    lost = np.zeros((len(before), before.shape[1] + 1))
    lost[:, 1:][reset] = before[reset]
    return np.add.reduceat(lost, starts, axis=1)


def _build_buckets(
    ends: Times,
    count: Floats,
    first_at: Times,
    last_at: Times,
    last: Floats,
    first: Floats,
    low: Floats,
    high: Floats,
    total: Floats,
    lost: Floats,
) -> Buckets:
    # Constant series store no sum: it is count times last.
    total = np.where((low == high) & ~np.isnan(total), count * last, total)
    return Buckets(ends, count, first_at, last_at, last, first, low, high, total, lost)
