"""Kahan-Babuska summation of ranges, as in Prometheus."""

from __future__ import annotations

import numpy as np

from vigie.query.arrays import Floats, Indices
from vigie.query.windows import Window


def compensated_sum(window: Window) -> Floats:
    """Sum each range; numbers of one sign need no compensation."""
    total = window.reduce(np.add)
    values = window.values
    mixed = np.flatnonzero((values < 0).any(axis=1) & (values > 0).any(axis=1))
    if len(mixed):
        total[mixed] = _sum_ranges(values[mixed], window.low, window.high)
    return total


def two_sum(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum, and its rounding error."""
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)


def add_lost(total: Floats, lost: Floats) -> Floats:
    """Add rounding errors to sums, unless they are infinite or NaN."""
    return np.where(np.isfinite(total) & np.isfinite(lost), total + lost, total)


def _sum_ranges(values: Floats, low: Indices, high: Indices) -> Floats:
    longest = int((high - low).max(initial=0))
    if len(low) * longest.bit_length() < longest:
        return np.column_stack(
            [_sum_one_range(values[:, a:b]) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        )
    return _sum_all_ranges(values, low, high, longest)


def _sum_one_range(values: Floats) -> Floats:
    """Sum one long range pairwise."""
    lost = np.zeros(len(values))
    while (width := values.shape[1]) > 1:
        sums, small = two_sum(values[:, 0 : width - 1 : 2], values[:, 1:width:2])
        lost += small.sum(axis=1)
        values = np.concatenate([sums, values[:, width - 1 :]], axis=1) if width % 2 else sums
    return add_lost(values[:, 0], lost)


def _sum_all_ranges(values: Floats, low: Indices, high: Indices, longest: int) -> Floats:
    """Sum many ranges at once, sample by sample."""
    total = np.zeros((len(values), len(low)))
    lost = np.zeros_like(total)
    last = values.shape[1] - 1
    for place in range(longest):
        column = low + place
        added = np.where(column < high, np.take(values, np.minimum(column, last), axis=1), 0.0)
        total, small = two_sum(total, added)
        lost += small
    return add_lost(total, lost)
