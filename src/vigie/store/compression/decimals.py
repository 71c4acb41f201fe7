"""Floats that are whole numbers, or have few decimals: as whole numbers they press better and unpack faster.

Most of what machines count is so. pcodec often sees it by itself, but not in hundredths of seconds beside
one another that differ in size: those take 4.4 bytes a value as floats, and 1.3 as whole numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_DECIMALS = 4
LEAST = 128  # values for which it is worth the look
_GLANCE = 64  # values that are looked at before all are


def as_whole(values: Floats) -> tuple[Whole, int] | None:
    """Return whole numbers and how many decimals they stand for, if that gives every bit back."""
    if len(values) < LEAST:
        return None
    few = values[:: -(-len(values) // _GLANCE)]
    with np.errstate(all="ignore"):  # NaN and infinities are no whole numbers, which shows
        for decimals in range(MOST_DECIMALS + 1):
            if _whole(few, decimals) is not None:
                whole = _whole(values, decimals)
                if whole is not None:
                    return whole, decimals
    return None


def whole_lines(lines: Floats) -> tuple[Whole, NDArray[np.bool_]]:
    """Return all as whole numbers, and which lines that gives back bit for bit."""
    with np.errstate(all="ignore"):
        whole: Whole = np.rint(lines).astype(np.int64)
    again = whole.astype(np.float64)
    return whole, (again.view(np.uint64) == lines.view(np.uint64)).all(axis=1)


def fill_floats(floats: Floats, numbers: Whole | Floats, decimals: int) -> None:
    """Write the floats again that whole numbers stand for; floats are written as they are."""
    if decimals:
        np.divide(numbers, 10.0**decimals, out=floats)
    else:
        floats[...] = numbers


def _whole(values: Floats, decimals: int) -> Whole | None:
    whole: Whole = np.rint(values * 10.0**decimals).astype(np.int64)
    again = np.empty_like(values)
    fill_floats(again, whole, decimals)
    return whole if (again.view(np.uint64) == values.view(np.uint64)).all() else None
