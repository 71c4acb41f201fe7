"""deriv, predict_linear and double exponential smoothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vigie.query.arrays import Floats, Times
from vigie.query.errors import ExecutionError
from vigie.query.windows import Window


def deriv(window: Window, _: Sequence[Floats]) -> Floats:
    """Return the slope per second of the regression line."""
    slope, _level = _fit_line(window, window.times[window.low])
    return slope


def predict_linear(window: Window, parameters: Sequence[Floats]) -> Floats:
    """Return the value of the regression line some seconds after the step."""
    slope, level = _fit_line(window, window.now)
    return slope * parameters[0] + level


def _fit_line(window: Window, origin: Times) -> tuple[Floats, Floats]:
    """Return slope and value at the origin of the least-squares line."""
    y, filled = window.cube()
    x = np.where(
        filled, (window.cube(window.times.astype(np.float64))[0] - origin[:, np.newaxis]) / 1000, 0.0
    )
    first = y[:, :, :1]
    constant = ((y == first) | ~filled).all(axis=2)
    count = window.counts
    middle_x = x.sum(axis=1) / count
    middle_y = np.where(filled, y, 0.0).sum(axis=2) / count
    off_x = np.where(filled, x - middle_x[:, np.newaxis], 0.0)
    off_y = np.where(filled, y - middle_y[:, :, np.newaxis], 0.0)
    slope = (off_x * off_y).sum(axis=2) / (off_x * off_x).sum(axis=1)
    level = middle_y - slope * middle_x
    flat = np.where(np.isinf(first[:, :, 0]), np.nan, first[:, :, 0])
    return np.where(constant, flat * 0.0, slope), np.where(constant, flat, level)


def smooth(window: Window, parameters: Sequence[Floats]) -> Floats:
    """Return Holt-Winters double exponential smoothing."""
    smoothing, trend_factor = parameters
    _check_factor(smoothing, "smoothing factor")
    _check_factor(trend_factor, "trend factor")
    samples, filled = window.cube()
    level = samples[:, :, 0]
    before = np.zeros_like(level)
    trend = samples[:, :, 1] - level
    for place in range(1, samples.shape[2]):
        if place > 1:
            newer = trend_factor * (level - before) + (1 - trend_factor) * trend
            trend = np.where(filled[:, place], newer, trend)
        smoothed = smoothing * samples[:, :, place] + (1 - smoothing) * (level + trend)
        before = np.where(filled[:, place], level, before)
        level = np.where(filled[:, place], smoothed, level)
    return level


def _check_factor(factors: Floats, what: str) -> None:
    for factor in factors[(factors <= 0) | (factors >= 1)].tolist():
        raise ExecutionError(f"invalid {what}. Expected: 0 < {what[0]}f < 1, got: {factor:f}")
