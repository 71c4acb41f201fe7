"""Floats that are integers or have few decimals, stored as integers: smaller, and faster to decompress.

Most counters are like that. pcodec detects it in many cases, but not for hundredths of seconds of different
magnitude: those take 4.4 bytes per value as floats, and 1.3 as integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_DECIMALS = 4
MIN_VALUES = 128  # values from which the conversion pays
_TRIED = 64  # values to try before all are converted


def to_integers(values: Floats) -> tuple[Integers, int] | None:
    """Return integers and their number of decimals, if that represents every value bit for bit."""
    if len(values) < MIN_VALUES:
        return None
    tried = values[:: -(-len(values) // _TRIED)]
    with np.errstate(all="ignore"):  # NaN and infinities fail the comparison
        for decimals in range(MAX_DECIMALS + 1):
            if _scale_exactly(tried, decimals) is not None:
                whole = _scale_exactly(values, decimals)
                if whole is not None:
                    return whole, decimals
    return None


def round_vectors(vectors: Floats) -> tuple[Integers, NDArray[np.bool_]]:
    """Return all vectors rounded to integers, and which of them that represents bit for bit."""
    with np.errstate(all="ignore"):
        whole: Integers = np.rint(vectors).astype(np.int64)
    restored = whole.astype(np.float64)
    return whole, (restored.view(np.uint64) == vectors.view(np.uint64)).all(axis=1)


def fill_floats(floats: Floats, numbers: Integers | Floats, decimals: int) -> None:
    """Convert integers with decimals back to floats; floats are copied."""
    if decimals:
        np.divide(numbers, 10.0**decimals, out=floats)
    else:
        floats[...] = numbers


def _scale_exactly(values: Floats, decimals: int) -> Integers | None:
    whole: Integers = np.rint(values * 10.0**decimals).astype(np.int64)
    restored = np.empty_like(values)
    fill_floats(restored, whole, decimals)
    return whole if (restored.view(np.uint64) == values.view(np.uint64)).all() else None
