"""Date functions, in UTC."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vigie.query.arrays import Floats, Times

_LARGEST = 2.0**53  # seconds; numpy's calendar ends before


def _read(part: Callable[[Times], Times]) -> Callable[[Floats], Floats]:
    """Adapt a function of whole seconds to floats; values out of range give NaN."""

    def function(values: Floats) -> Floats:
        valid = np.abs(values) < _LARGEST
        seconds = np.where(valid, values, 0.0).astype(np.int64)
        return np.where(valid, part(seconds).astype(np.float64), np.nan)

    return function


def _whole(seconds: Times, unit: str) -> Times:
    """Return the number of days, months or years since 1970."""
    return seconds.astype("datetime64[s]").astype(f"datetime64[{unit}]").astype(np.int64)


def _days_until(count: Times, unit: str) -> Times:
    return count.astype(f"datetime64[{unit}]").astype("datetime64[D]").astype(np.int64)


def _days_in_month(seconds: Times) -> Times:
    month = _whole(seconds, "M")
    return _days_until(month + 1, "M") - _days_until(month, "M")


DATES = {
    "year": _read(lambda seconds: _whole(seconds, "Y") + 1970),
    "month": _read(lambda seconds: _whole(seconds, "M") % 12 + 1),
    "day_of_month": _read(lambda s: _whole(s, "D") - _days_until(_whole(s, "M"), "M") + 1),
    "day_of_week": _read(lambda seconds: (_whole(seconds, "D") + 4) % 7),
    "day_of_year": _read(lambda s: _whole(s, "D") - _days_until(_whole(s, "Y"), "Y") + 1),
    "days_in_month": _read(_days_in_month),
    "hour": _read(lambda seconds: seconds // 3600 % 24),
    "minute": _read(lambda seconds: seconds // 60 % 60),
}
