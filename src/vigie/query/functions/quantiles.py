"""Prometheus's quantile: interpolated between the two nearest ranks, with NaN sorted first."""

from __future__ import annotations

import numpy as np

from vigie.query.arrays import Flags, Floats, Indices


def quantile(wanted: Floats, values: Floats, filled: Flags) -> Floats:
    """Return the quantile along the last axis, of the filled cells only."""
    ordered = np.sort(np.where(filled, values, np.nan), axis=-1)
    total = np.broadcast_to(filled, values.shape).sum(axis=-1)
    nans = (np.isnan(values) & filled).sum(axis=-1)
    rank = wanted * (total - 1)
    below = np.floor(np.nan_to_num(rank, nan=0.0, posinf=0.0, neginf=0.0))
    lower = np.maximum(below, 0).astype(np.intp)
    lower = np.minimum(lower, np.maximum(total - 1, 0))
    upper = np.minimum(lower + 1, np.maximum(total - 1, 0))
    weight = rank - below
    between = _take_rank(ordered, nans, lower) * (1 - weight) + _take_rank(ordered, nans, upper) * weight
    between = np.where(np.isnan(wanted) | (total == 0), np.nan, between)
    outside: Floats = np.where(wanted < 0, -np.inf, np.where(wanted > 1, np.inf, between))
    return outside


def _take_rank(ordered: Floats, nans: Indices, rank: Indices) -> Floats:
    """Return the value of a rank, with NaN, which numpy sorts last, counted first."""
    place = np.maximum(rank - nans, 0)[..., np.newaxis]
    value = np.take_along_axis(ordered, place, axis=-1)[..., 0]
    return np.where(rank < nans, np.nan, value)
