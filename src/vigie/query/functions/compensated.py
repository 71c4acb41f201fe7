"""Sums of ranges that keep what rounding would lose, as Prometheus's do."""

from __future__ import annotations

import numpy as np

from vigie.query.vectors import Floats, Indices
from vigie.query.windows import Window


def summed(window: Window) -> Floats:
    """Return the sum of each range; numbers of one sign lose nothing that counts and are added quickly."""
    total = window.reduce(np.add)
    values = window.values
    mixed = np.flatnonzero((values < 0).any(axis=1) & (values > 0).any(axis=1))
    if len(mixed):
        total[mixed] = _kept(values[mixed], window.low, window.high)
    return total


def _kept(values: Floats, low: Indices, high: Indices) -> Floats:
    """Return the sums, with what each addition lost added at the end; place by place, all ranges at once."""
    total = np.zeros((len(values), len(low)))
    lost = np.zeros_like(total)
    last = values.shape[1] - 1
    for place in range(int((high - low).max(initial=0))):
        column = low + place
        added = np.where(column < high, np.take(values, np.minimum(column, last), axis=1), 0.0)
        larger = total + added
        lost += np.where(np.abs(total) >= np.abs(added), (total - larger) + added, (added - larger) + total)
        total = larger
    return np.where(np.isfinite(total) & np.isfinite(lost), total + lost, total)
