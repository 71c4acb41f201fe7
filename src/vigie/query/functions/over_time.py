"""The *_over_time functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vigie.query.arrays import Flags, Floats
from vigie.query.functions.compensated_sum import compensated_sum
from vigie.query.functions.quantiles import quantile
from vigie.query.windows import Window

SMALL = 2.0**-64  # a scale at which no sum overflows


def total(window: Window, _: Sequence[Floats]) -> Floats:
    return compensated_sum(window)


def average(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the mean, finite even where the sum overflows."""
    mean = compensated_sum(window) / window.counts
    rows = np.flatnonzero(np.isinf(mean).any(axis=1))
    if len(rows):
        small = replace(window, values=window.values[rows] * SMALL)
        mean[rows] = np.where(
            np.isinf(mean[rows]), compensated_sum(small) / window.counts / SMALL, mean[rows]
        )
    return mean


def lowest(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the minimum; NaN only if there is nothing else."""
    return window.reduce(np.fmin)


def highest(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the maximum; NaN only if there is nothing else."""
    return window.reduce(np.fmax)


def count(window: Window, _: Sequence[Floats]) -> Floats:
    return np.broadcast_to(window.counts.astype(np.float64), (len(window.values), len(window.counts)))


def present(window: Window, _: Sequence[Floats]) -> Floats:
    return np.ones((len(window.values), len(window.counts)))


def first(window: Window, _: Sequence[Floats]) -> Floats:
    return window.first()


def last(window: Window, _: Sequence[Floats]) -> Floats:
    return window.last()


def variance(window: Window, _: Sequence[Floats]) -> Floats:
    samples, filled = window.cube()
    counts = window.counts
    mean = np.where(filled, samples, 0.0).sum(axis=2) / counts
    off = np.where(filled, samples - mean[:, :, np.newaxis], 0.0)
    # Corrects the rounding error of the mean.
    spread: Floats = ((off * off).sum(axis=2) - off.sum(axis=2) ** 2 / counts) / counts
    return spread


def deviation(window: Window, parameters: Sequence[Floats]) -> Floats:
    return np.sqrt(variance(window, parameters))


def quantile_of(window: Window, parameters: Sequence[Floats]) -> Floats:
    return quantile(parameters[0], *window.cube())


def median_deviation(window: Window, _: Sequence[Floats]) -> Floats:
    samples, filled = window.cube()
    half = np.full(len(window.counts), 0.5)
    middle = quantile(half, samples, filled)
    return quantile(half, np.abs(samples - middle[:, :, np.newaxis]), filled)


def time_of_first(window: Window, _: Sequence[Floats]) -> Floats:
    return _sample_seconds(window, np.zeros((len(window.values), len(window.counts)), dtype=np.intp))


def time_of_last(window: Window, _: Sequence[Floats]) -> Floats:
    return _sample_seconds(
        window, np.broadcast_to(window.counts - 1, (len(window.values), len(window.counts)))
    )


def time_of_lowest(window: Window, parameters: Sequence[Floats]) -> Floats:
    """Return the time of the last occurrence of the minimum."""
    return _last_occurrence(window, lowest(window, parameters))


def time_of_highest(window: Window, parameters: Sequence[Floats]) -> Floats:
    """Return the time of the last occurrence of the maximum."""
    return _last_occurrence(window, highest(window, parameters))


def _last_occurrence(window: Window, wanted: Floats) -> Floats:
    samples, filled = window.cube()
    target = wanted[:, :, np.newaxis]
    found: Flags = ((samples == target) | np.isnan(target)) & filled
    from_the_end = np.argmax(found[:, :, ::-1], axis=2)
    return _sample_seconds(window, samples.shape[2] - 1 - from_the_end)


def _sample_seconds(window: Window, place: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Floats:
    seconds: Floats = window.times[window.low + place] / 1000
    return seconds
