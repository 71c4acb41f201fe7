"""rate, increase, delta and the like, extrapolated as in Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vigie.query.arrays import Flags, Floats, Indices
from vigie.query.windows import Window

FEW = 32  # positions of counter resets up to which they are processed one by one: those of a node coincide


def rate(window: Window, _: Sequence[Floats]) -> Floats:
    return _counted(window, 1 / _length(window))


def increase(window: Window, _: Sequence[Floats]) -> Floats:
    return _counted(window, np.ones(len(window.ends)))


def delta(window: Window, _: Sequence[Floats]) -> Floats:
    spans = _spans(window)
    grown = window.last()
    grown -= window.first()
    grown *= (spans.sampled + spans.capped(spans.to_start) + spans.capped(spans.to_end)) / spans.sampled
    return grown


def irate(window: Window, _: Sequence[Floats]) -> Floats:
    last, before = window.last(), np.take(window.values, window.high - 2, axis=1)
    seconds = (window.times_at(window.high - 1) - window.times_at(window.high - 2)) / 1000
    grown: Floats = np.where(last < before, last, last - before) / seconds
    return grown


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


def _length(window: Window) -> Floats:
    seconds: Floats = (window.ends - window.begins) / 1000
    return seconds


class _Spans(NamedTuple):
    """Positions of the samples in each range, in seconds: one row for all series, or one per series."""

    sampled: Floats
    average: Floats
    to_start: Floats
    to_end: Floats

    def of(self, rows: Indices) -> _Spans:
        return self if self.sampled.ndim == 1 else _Spans(*(each[rows] for each in self))

    def capped(self, gap: Floats) -> Floats:
        """Return how far to extrapolate: to the boundary if it is near, otherwise half an interval."""
        return np.where(gap < self.average * 1.1, gap, self.average / 2)


def _spans(window: Window) -> _Spans:
    first, last = window.times_at(window.low), window.times_at(window.high - 1)
    sampled = (last - first) / 1000
    average = sampled / (window.counts - 1)
    return _Spans(sampled, average, (first - window.begins) / 1000, (window.ends - last) / 1000)


def _counted(window: Window, scale: Floats) -> Floats:
    """Return the extrapolated growth of counters, times a factor per step."""
    spans = _spans(window)
    first, grown = window.first(), window.last()
    grown -= first
    restarted, moments = _restarted(window)
    if len(restarted):
        _add_lost(window, restarted, moments, grown)
    near_zero = _may_reach_zero(window, spans, restarted)
    kept, beginnings = grown[near_zero], first[near_zero]
    grown *= (
        (spans.sampled + spans.capped(spans.to_start) + spans.capped(spans.to_end)) / spans.sampled * scale
    )
    if len(near_zero):
        near = spans.of(near_zero)
        to_start = _not_below_zero(window, near, kept, beginnings)
        grown[near_zero] = kept * (
            (near.sampled + to_start + near.capped(near.to_end)) / near.sampled * scale
        )
    return grown


def _restarted(window: Window) -> tuple[Indices, Indices]:
    """Return the rows with a reset or NaN, and the columns before them."""
    steady = window.values[:, 1:] >= window.values[:, :-1]
    moments = np.flatnonzero(~steady.all(axis=0))
    return np.flatnonzero(~steady[:, moments].all(axis=1)), moments


def _add_lost(window: Window, rows: Indices, moments: Indices, grown: Floats) -> None:
    """Add the value before each counter reset."""
    if len(moments) > FEW:
        grown[rows] += _lost(window, rows)
        return
    for moment in moments.tolist():
        steps = np.flatnonzero((window.low <= moment) & (window.high - 1 > moment))
        before, after = window.values[rows, moment], window.values[rows, moment + 1]
        grown[np.ix_(rows, steps)] += np.where(after < before, before, 0.0)[:, np.newaxis]


def _lost(window: Window, rows: Indices) -> Floats:
    """Sum the values before counter resets, for each range."""
    values = window.values[rows]
    before = values[:, :-1]
    return window.reduce(np.add, np.where(values[:, 1:] < before, before, 0.0), shorter=1)


def _may_reach_zero(window: Window, spans: _Spans, restarted: Indices) -> Indices:
    """Return the rows whose extrapolation may reach zero; most counters are far above."""
    reach = (spans.to_start / spans.sampled).max(initial=0.0)
    lowest, highest = window.values[:, 0], window.values[:, -1]
    far = lowest >= reach * (highest - lowest)
    far[restarted] = False
    return np.flatnonzero(~far)


def _not_below_zero(window: Window, spans: _Spans, grown: Floats, first: Floats) -> Floats:
    """Return how far back to extrapolate: not beyond the time at which the counter would be zero."""
    caps_first = window.semantics.caps_before_zero
    to_start = spans.capped(spans.to_start) if caps_first else spans.to_start
    to_zero = spans.sampled * (first / grown)
    to_start = np.where((grown > 0) & (first >= 0) & (to_zero < to_start), to_zero, to_start)
    return to_start if caps_first else spans.capped(to_start)
