"""Floats that are integers or have few decimals, stored as integers: smaller, and faster to decompress.

Most counters are like that. pcodec detects it in many cases, but not for hundredths of seconds of different
magnitude: those take 4.4 bytes per value as floats, and 1.3 as integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_DECIMALS = 4
LEAST = 128  # values from which the conversion pays
_GLANCE = 64  # values to try before all are converted


def as_whole(values: Floats) -> tuple[Whole, int] | None:
    """Return integers and their number of decimals, if that represents every value bit for bit."""
    if len(values) < LEAST:
        return None
    few = values[:: -(-len(values) // _GLANCE)]
    with np.errstate(all="ignore"):  # NaN and infinities fail the comparison
        for decimals in range(MOST_DECIMALS + 1):
            if _whole(few, decimals) is not None:
                whole = _whole(values, decimals)
                if whole is not None:
                    return whole, decimals
    return None


def whole_lines(lines: Floats) -> tuple[Whole, NDArray[np.bool_]]:
    """Return all vectors rounded to integers, and which of them that represents bit for bit."""
    with np.errstate(all="ignore"):
        whole: Whole = np.rint(lines).astype(np.int64)
    again = whole.astype(np.float64)
    return whole, (again.view(np.uint64) == lines.view(np.uint64)).all(axis=1)


def fill_floats(floats: Floats, numbers: Whole | Floats, decimals: int) -> None:
    """Convert integers with decimals back to floats; floats are copied."""
    if decimals:
        np.divide(numbers, 10.0**decimals, out=floats)
    else:
        floats[...] = numbers


def _whole(values: Floats, decimals: int) -> Whole | None:
    whole: Whole = np.rint(values * 10.0**decimals).astype(np.int64)
    again = np.empty_like(values)
    fill_floats(again, whole, decimals)
    return whole if (again.view(np.uint64) == values.view(np.uint64)).all() else None
