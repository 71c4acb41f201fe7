"""What the samples of a range come to: the *_over_time functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vigie.query.arrays import Flags, Floats
from vigie.query.functions.compensated_sum import compensated_sum
from vigie.query.functions.quantiles import quantile
from vigie.query.windows import Window

SMALL = 2.0**-64  # so much smaller, no range of numbers has a sum that is none


def total(window: Window, _: Sequence[Floats]) -> Floats:
    return compensated_sum(window)


def average(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the mean, which is a number even where the sum is too large to be one."""
    mean = compensated_sum(window) / window.counts
    rows = np.flatnonzero(np.isinf(mean).any(axis=1))
    if len(rows):
        small = replace(window, values=window.values[rows] * SMALL)
        mean[rows] = np.where(
            np.isinf(mean[rows]), compensated_sum(small) / window.counts / SMALL, mean[rows]
        )
    return mean


def lowest(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the smallest value; NaN only if there is nothing else."""
    return window.reduce(np.fmin)


def highest(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the largest value; NaN only if there is nothing else."""
    return window.reduce(np.fmax)


def count(window: Window, _: Sequence[Floats]) -> Floats:
    return np.broadcast_to(window.counts.astype(np.float64), (len(window.values), len(window.counts)))


def present(window: Window, _: Sequence[Floats]) -> Floats:
    return np.ones((len(window.values), len(window.counts)))


def first(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the oldest value."""
    return window.first()


def last(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the newest value."""
    return window.last()


def variance(window: Window, _: Sequence[Floats]) -> Floats:
    samples, filled = window.cube()
    counts = window.counts
    mean = np.where(filled, samples, 0.0).sum(axis=2) / counts
    off = np.where(filled, samples - mean[:, :, np.newaxis], 0.0)
    # The sum of the distances is zero but for what rounding did to the mean; this takes it out again.
    spread: Floats = ((off * off).sum(axis=2) - off.sum(axis=2) ** 2 / counts) / counts
    return spread


def deviation(window: Window, parameters: Sequence[Floats]) -> Floats:
    """Return the population standard deviation."""
    return np.sqrt(variance(window, parameters))


def quantile_of(window: Window, parameters: Sequence[Floats]) -> Floats:
    """Return a quantile of the samples."""
    return quantile(parameters[0], *window.cube())


def median_deviation(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the median of the distances from the median."""
    samples, filled = window.cube()
    half = np.full(len(window.counts), 0.5)
    middle = quantile(half, samples, filled)
    return quantile(half, np.abs(samples - middle[:, :, np.newaxis]), filled)


def time_of_first(window: Window, _: Sequence[Floats]) -> Floats:
    """Return when the oldest sample was taken."""
    return _seconds(window, np.zeros((len(window.values), len(window.counts)), dtype=np.intp))


def time_of_last(window: Window, _: Sequence[Floats]) -> Floats:
    """Return when the newest sample was taken."""
    return _seconds(window, np.broadcast_to(window.counts - 1, (len(window.values), len(window.counts))))


def time_of_lowest(window: Window, parameters: Sequence[Floats]) -> Floats:
    """Return when the smallest value was last seen."""
    return _last_time_of(window, lowest(window, parameters))


def time_of_highest(window: Window, parameters: Sequence[Floats]) -> Floats:
    """Return when the largest value was last seen."""
    return _last_time_of(window, highest(window, parameters))


def _last_time_of(window: Window, wanted: Floats) -> Floats:
    samples, filled = window.cube()
    target = wanted[:, :, np.newaxis]
    found: Flags = ((samples == target) | np.isnan(target)) & filled
    from_the_end = np.argmax(found[:, :, ::-1], axis=2)
    return _seconds(window, samples.shape[2] - 1 - from_the_end)


def _seconds(window: Window, place: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Floats:
    seconds: Floats = window.times[window.low + place] / 1000
    return seconds
