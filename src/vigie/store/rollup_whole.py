"""Values of buckets that are whole numbers, or have few decimals: each field as its way from a guess.

Of a counter low and high are its first and last value, and its first value lies one step behind the last
one of the bucket before: what is left to write is small, and mostly nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vigie.query.rolled_buckets import Cells
from vigie.query.vectors import Flags
from vigie.store.codec import THOROUGH, Floats, pack_whole, unpack_numbers
from vigie.store.decimals import Whole, as_whole, whole_lines

WHOLE = ("last", "first", "low", "high")
DIGITS = 10  # of a sum that are kept: the others are the noise of adding
PARTS = 8  # of a metric
_STEADY, _MOVING = b"=", b"~"


class WholePage:
    """The fields of a page's series, made ready all at once, to be packed metric by metric."""

    def __init__(
        self, metrics: Sequence[tuple[int, int]], cells: Mapping[str, Floats], count: Floats
    ) -> None:
        some = np.broadcast_to(count > 0, cells["last"].shape)
        fields = [carried(cells[name], some) for name in WHOLE]
        numbers, self._decimals = _numbers(metrics, np.concatenate(fields, axis=1))
        last, first, low, high = np.split(numbers, len(WHOLE), axis=1)
        total, guess = cells["total"], guessed_total(count, fields[1], fields[0])
        with np.errstate(all="ignore"):  # of lines that are no such numbers nothing is used
            self._digits = _digits(total, self._decimals)
            distance = np.rint((total - guess) * _scale(self._digits)).astype(np.int64)
        fits = np.isfinite(total).all(axis=1) & (self._decimals >= 0)
        ways = [
            first - _before(last),
            np.minimum(first, last) - low,
            high - np.maximum(first, last),
            distance,
        ]
        self._last, self._ways = last, [np.where(some, way, 0) for way in ways]
        starts = [start for start, _ in metrics]
        self._fits = np.logical_and.reduceat(fits, starts).tolist()
        self._steady = np.logical_and.reduceat((last == last[:, :1]).all(axis=1), starts).tolist()
        self._moved = [np.logical_or.reduceat(way.any(axis=1), starts).tolist() for way in self._ways]

    def packed(self, metric: int, start: int, stop: int) -> list[bytes] | None:
        """Return the parts of one metric's lines; None if they are no such numbers."""
        if not self._fits[metric]:
            return None
        last, decimals = self._last[start:stop], int(self._decimals[start])
        if self._steady[metric]:
            parts = [_STEADY, np.ascontiguousarray(last[:, 0]).tobytes()]
        else:
            parts = [_MOVING, pack_whole(last, THOROUGH, noise=False)]
        for way, moved in zip(self._ways, self._moved, strict=True):
            parts.append(pack_whole(way[start:stop], THOROUGH, noise=True) if moved[metric] else b"")
        return [bytes([decimals]), *parts, self._digits[start:stop].tobytes() if parts[-1] else b""]


def _numbers(metrics: Sequence[tuple[int, int]], fields: Floats) -> tuple[Whole, Whole]:
    """Return lines as whole numbers, and how many decimals they stand for in each metric; -1 for none."""
    whole, fits = whole_lines(fields)
    decimals = np.where(fits, 0, -1)
    for start, stop in metrics:
        if not fits[start:stop].all():
            found = as_whole(fields[start:stop].reshape(-1), least=1)
            decimals[start:stop] = -1 if found is None else found[1]
            if found is not None:
                whole[start:stop] = found[0].reshape(stop - start, -1)
    return whole, decimals


def _digits(total: Floats, decimals: Whole) -> NDArray[np.int8]:
    """Return, for each line, up to which decimal its sums are kept; below 0 there are zeros."""
    largest = np.maximum(np.abs(total).max(axis=1), 1.0)
    digits = np.minimum(DIGITS - 1 - np.floor(np.log10(largest)), decimals + 1)
    kept: NDArray[np.int8] = np.nan_to_num(digits, nan=0, posinf=0, neginf=0).astype(np.int8)
    return kept


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


def guessed_total(count: Floats, first: Floats, last: Floats) -> Floats:
    """Return the sum of values that go evenly from the first to the last."""
    with np.errstate(all="ignore"):
        return count * (first / 2 + last / 2)


def carried(cells: Floats, some: Flags) -> Floats:
    """Return cells with the number before, or 0, where there are no samples."""
    if some.all():
        return cells
    places = np.maximum.accumulate(np.where(some, np.arange(some.shape[1]), -1), axis=1)
    return np.where(places < 0, 0.0, np.take_along_axis(cells, np.maximum(places, 0), axis=1))


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
