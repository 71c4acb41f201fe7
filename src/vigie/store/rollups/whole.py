"""Values of buckets that are whole numbers, or have few decimals, as format 3 wrote them for each metric."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from vigie.query.rolled.buckets import Cells
from vigie.store.pressing.codec import Floats, unpack_numbers
from vigie.store.pressing.decimals import Whole
from vigie.store.rollups.cells import guessed_total

PARTS = 8  # of a metric
_STEADY = b"="


def unpacked(parts: Sequence[bytes], count: Floats, height: int, needed: Collection[str]) -> dict[str, Cells]:
    """Return the fields that are needed, as far as they are here, of the lines of a metric."""
    shape, (decimals, kind, lasts, *ways, digits) = (height, count.shape[1]), parts
    some = np.broadcast_to(count > 0, shape)
    last = _unpacked_last(kind, lasts, shape)
    first = _unpacked(ways[0], shape) + _before(last)
    whole = {"last": last, "first": first}
    if "low" in needed:
        whole["low"] = np.minimum(first, last) - _unpacked(ways[1], shape)
    if "high" in needed:
        whole["high"] = np.maximum(first, last) + _unpacked(ways[2], shape)
    cells: dict[str, Cells] = {name: numbers / 10.0 ** decimals[0] for name, numbers in whole.items()}
    if "total" in needed:
        cells["total"] = np.where(some, guessed_total(count, cells["first"], cells["last"]), 0.0)
        if ways[3]:
            cells["total"] += _unpacked(ways[3], shape) / _scale(np.frombuffer(digits, np.int8))
    if not some.all():
        for name in whole:
            cells[name][~some] = np.nan
    return cells


def _scale(digits: NDArray[np.int8]) -> Floats:
    scale: Floats = 10.0 ** digits.astype(np.float64)[:, np.newaxis]
    return scale


def _before(last: Whole) -> Whole:
    return np.concatenate([last[:, :1], last[:, :-1]], axis=1)


def _unpacked(part: bytes, shape: tuple[int, int]) -> Whole:
    if not part:
        return np.zeros((1, shape[1]), dtype=np.int64)
    return unpack_numbers(part)[0].reshape(shape).view(np.int64)


def _unpacked_last(kind: bytes, part: bytes, shape: tuple[int, int]) -> Whole:
    if kind == _STEADY:
        return np.broadcast_to(np.frombuffer(part, np.int64)[:, np.newaxis], shape)
    return _unpacked(part, shape)
