"""rate, increase, delta and the like, extrapolated as in Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vigie.query.arrays import Flags, Floats, Indices
from vigie.query.windows import Window

MAX_RESET_COLUMNS = (
    32  # positions of counter resets up to which they are processed one by one: those of a node coincide
)


def rate(window: Window, _: Sequence[Floats]) -> Floats:
    return _extrapolate_counter(window, 1 / _range_seconds(window))


def increase(window: Window, _: Sequence[Floats]) -> Floats:
    return _extrapolate_counter(window, np.ones(len(window.ends)))


def delta(window: Window, _: Sequence[Floats]) -> Floats:
    spans = _measure_ranges(window)
    growth = window.last()
    growth -= window.first()
    growth *= (spans.sampled + spans.cap(spans.to_start) + spans.cap(spans.to_end)) / spans.sampled
    return growth


def irate(window: Window, _: Sequence[Floats]) -> Floats:
    last, before = window.last(), np.take(window.values, window.high - 2, axis=1)
    seconds = (window.times_at(window.high - 1) - window.times_at(window.high - 2)) / 1000
    growth: Floats = np.where(last < before, last, last - before) / seconds
    return growth


def idelta(window: Window, _: Sequence[Floats]) -> Floats:
    return window.last() - np.take(window.values, window.high - 2, axis=1)


def changes(window: Window, _: Sequence[Floats]) -> Floats:
    """Count value changes; from NaN to NaN is no change."""
    before, after = window.values[:, :-1], window.values[:, 1:]
    return _count_pairs(window, (before != after) & ~(np.isnan(before) & np.isnan(after)))


def resets(window: Window, _: Sequence[Floats]) -> Floats:
    return _count_pairs(window, window.values[:, 1:] < window.values[:, :-1])


def _count_pairs(window: Window, happened: Flags) -> Floats:
    """Count, per range, the neighbors for which a condition holds."""
    until = np.zeros(window.values.shape)
    np.cumsum(happened, axis=1, out=until[:, 1:])
    return np.take(until, window.high - 1, axis=1) - np.take(until, window.low, axis=1)


def _range_seconds(window: Window) -> Floats:
    seconds: Floats = (window.ends - window.begins) / 1000
    return seconds


class _RangeSpans(NamedTuple):
    """Positions of the samples in each range, in seconds: one row for all series, or one per series."""

    sampled: Floats
    average: Floats
    to_start: Floats
    to_end: Floats

    def of(self, rows: Indices) -> _RangeSpans:
        return self if self.sampled.ndim == 1 else _RangeSpans(*(each[rows] for each in self))

    def cap(self, gap: Floats) -> Floats:
        """Return how far to extrapolate: to the boundary if it is near, otherwise half an interval."""
        return np.where(gap < self.average * 1.1, gap, self.average / 2)


def _measure_ranges(window: Window) -> _RangeSpans:
    first, last = window.times_at(window.low), window.times_at(window.high - 1)
    sampled = (last - first) / 1000
    average = sampled / (window.counts - 1)
    return _RangeSpans(sampled, average, (first - window.begins) / 1000, (window.ends - last) / 1000)


def _extrapolate_counter(window: Window, scale: Floats) -> Floats:
    """Return the extrapolated growth of counters, times a factor per step."""
    spans = _measure_ranges(window)
    first, growth = window.first(), window.last()
    growth -= first
    reset_rows, reset_columns = _find_resets(window)
    if len(reset_rows):
        _add_lost(window, reset_rows, reset_columns, growth)
    near_zero = _may_reach_zero(window, spans, reset_rows)
    plain_growth, first_values = growth[near_zero], first[near_zero]
    growth *= (spans.sampled + spans.cap(spans.to_start) + spans.cap(spans.to_end)) / spans.sampled * scale
    if len(near_zero):
        near = spans.of(near_zero)
        to_start = _cap_at_zero(window, near, plain_growth, first_values)
        growth[near_zero] = plain_growth * (
            (near.sampled + to_start + near.cap(near.to_end)) / near.sampled * scale
        )
    return growth


def _find_resets(window: Window) -> tuple[Indices, Indices]:
    """Return the rows with a reset or NaN, and the columns before them."""
    steady = window.values[:, 1:] >= window.values[:, :-1]
    reset_columns = np.flatnonzero(~steady.all(axis=0))
    return np.flatnonzero(~steady[:, reset_columns].all(axis=1)), reset_columns


def _add_lost(window: Window, rows: Indices, reset_columns: Indices, growth: Floats) -> None:
    """Add the value before each counter reset."""
    if len(reset_columns) > MAX_RESET_COLUMNS:
        growth[rows] += _sum_lost(window, rows)
        return
    for column in reset_columns.tolist():
        steps = np.flatnonzero((window.low <= column) & (window.high - 1 > column))
        before, after = window.values[rows, column], window.values[rows, column + 1]
        growth[np.ix_(rows, steps)] += np.where(after < before, before, 0.0)[:, np.newaxis]


def _sum_lost(window: Window, rows: Indices) -> Floats:
    """Sum the values before counter resets, for each range."""
    values = window.values[rows]
    before = values[:, :-1]
    return window.reduce(np.add, np.where(values[:, 1:] < before, before, 0.0), shorter=1)


def _may_reach_zero(window: Window, spans: _RangeSpans, reset_rows: Indices) -> Indices:
    """Return the rows whose extrapolation may reach zero; most counters are far above."""
    reach = (spans.to_start / spans.sampled).max(initial=0.0)
    lowest, highest = window.values[:, 0], window.values[:, -1]
    far = lowest >= reach * (highest - lowest)
    far[reset_rows] = False
    return np.flatnonzero(~far)


def _cap_at_zero(window: Window, spans: _RangeSpans, growth: Floats, first: Floats) -> Floats:
    """Return how far back to extrapolate: not beyond the time at which the counter would be zero."""
    caps_first = window.semantics.caps_before_zero
    to_start = spans.cap(spans.to_start) if caps_first else spans.to_start
    to_zero = spans.sampled * (first / growth)
    to_start = np.where((growth > 0) & (first >= 0) & (to_zero < to_start), to_zero, to_start)
    return to_start if caps_first else spans.cap(to_start)
