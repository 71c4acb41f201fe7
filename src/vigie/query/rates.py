"""How fast ranges grow: rate, increase, delta and their kin, extrapolated as Prometheus does it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vigie.query.vectors import Flags, Floats
from vigie.query.windows import Window


def rate(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the growth of a counter per second."""
    return _extrapolated(window, _increase(window), counter=True) / _length(window)


def increase(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the growth of a counter over the range."""
    return _extrapolated(window, _increase(window), counter=True)


def delta(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the change of a gauge over the range."""
    return _extrapolated(window, window.last() - window.first(), counter=False)


def irate(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the growth per second between the last two samples of a counter."""
    last, before = window.last(), np.take(window.values, window.high - 2, axis=1)
    seconds = (window.times[window.high - 1] - window.times[window.high - 2]) / 1000
    grown: Floats = np.where(last < before, last, last - before) / seconds
    return grown


def idelta(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the change between the last two samples of a gauge."""
    return window.last() - np.take(window.values, window.high - 2, axis=1)


def changes(window: Window, _: Sequence[Floats]) -> Floats:
    """Return how often the value changed; from one NaN to another is no change."""
    before, after = window.values[:, :-1], window.values[:, 1:]
    return _count_pairs(window, (before != after) & ~(np.isnan(before) & np.isnan(after)))


def resets(window: Window, _: Sequence[Floats]) -> Floats:
    """Return how often the value fell."""
    return _count_pairs(window, window.values[:, 1:] < window.values[:, :-1])


def _count_pairs(window: Window, happened: Flags) -> Floats:
    """Return, for each range, the number of neighbours between which something happened."""
    until = np.zeros(window.values.shape)
    np.cumsum(happened, axis=1, out=until[:, 1:])
    return np.take(until, window.high - 1, axis=1) - np.take(until, window.low, axis=1)


def _length(window: Window) -> Floats:
    seconds: Floats = (window.ends - window.begins) / 1000
    return seconds


def _increase(window: Window) -> Floats:
    """Return last minus first, plus what was lost wherever the counter started anew."""
    grown = window.last() - window.first()
    before = window.values[:, :-1]
    reset = window.values[:, 1:] < before
    rows = np.flatnonzero(reset.any(axis=1))
    if len(rows):
        lost = np.where(reset[rows], before[rows], 0.0)
        grown[rows] += window.reduce(np.add, lost, shorter=1)
    return grown


def _extrapolated(window: Window, grown: Floats, *, counter: bool) -> Floats:
    """Return the growth carried on to the limits of the range, if the samples come near them."""
    first, last = window.times[window.low], window.times[window.high - 1]
    to_start: Floats = (first - window.begins) / 1000
    to_end = (window.ends - last) / 1000
    sampled = (last - first) / 1000
    average = sampled / (window.counts - 1)
    near = average * 1.1
    if counter and window.semantics.caps_before_zero:
        to_start = _not_below_zero(window, grown, sampled, np.where(to_start < near, to_start, average / 2))
    elif counter:
        to_start = _not_below_zero(window, grown, sampled, to_start)
        to_start = np.where(to_start < near, to_start, average / 2)
    else:
        to_start = np.where(to_start < near, to_start, average / 2)
    to_end = np.where(to_end < near, to_end, average / 2)
    extrapolated: Floats = grown * ((sampled + to_start + to_end) / sampled)
    return extrapolated


def _not_below_zero(window: Window, grown: Floats, sampled: Floats, to_start: Floats) -> Floats:
    """Return how far back a counter may be carried on: not beyond where it would have been zero."""
    first = window.first()
    to_zero = sampled * (first / grown)
    return np.where((grown > 0) & (first >= 0) & (to_zero < to_start), to_zero, to_start)
