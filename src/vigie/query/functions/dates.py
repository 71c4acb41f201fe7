"""Date functions, in UTC."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vigie.query.arrays import Floats, Times

_MAX_SECONDS = 2.0**53  # seconds; numpy's calendar ends before


def _adapt(part: Callable[[Times], Times]) -> Callable[[Floats], Floats]:
    """Adapt a function of whole seconds to floats; values out of range give NaN."""

    def function(values: Floats) -> Floats:
        valid = np.abs(values) < _MAX_SECONDS
        seconds = np.where(valid, values, 0.0).astype(np.int64)
        return np.where(valid, part(seconds).astype(np.float64), np.nan)

    return function


def _count_units(seconds: Times, unit: str) -> Times:
    """Return the number of days, months or years since 1970."""
    return seconds.astype("datetime64[s]").astype(f"datetime64[{unit}]").astype(np.int64)


def _days_until(count: Times, unit: str) -> Times:
    return count.astype(f"datetime64[{unit}]").astype("datetime64[D]").astype(np.int64)


def _days_in_month(seconds: Times) -> Times:
    month = _count_units(seconds, "M")
    return _days_until(month + 1, "M") - _days_until(month, "M")


DATES = {
    "year": _adapt(lambda seconds: _count_units(seconds, "Y") + 1970),
    "month": _adapt(lambda seconds: _count_units(seconds, "M") % 12 + 1),
    "day_of_month": _adapt(lambda s: _count_units(s, "D") - _days_until(_count_units(s, "M"), "M") + 1),
    "day_of_week": _adapt(lambda seconds: (_count_units(seconds, "D") + 4) % 7),
    "day_of_year": _adapt(lambda s: _count_units(s, "D") - _days_until(_count_units(s, "Y"), "Y") + 1),
    "days_in_month": _adapt(_days_in_month),
    "hour": _adapt(lambda seconds: seconds // 3600 % 24),
    "minute": _adapt(lambda seconds: seconds // 60 % 60),
}
