"""Encodes the cells of buckets: only those that differ from a prediction are stored.

For a counter, low and high are its first and last value; for a constant, all five are one number; and the
series of a stream mostly have samples at the same times.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence

import numpy as np

from vigie.query.arrays import Flags
from vigie.query.buckets import Cells, empty_buckets
from vigie.store.compression.codec import Floats, Times, pack_floats, pack_times, unpack_floats, unpack_times

SHARED = ("count", "first_at", "last_at")  # predicted from one row that stands for the whole page
_ALL = b"*"


def pack_cells(cells: dict[str, Cells], shared: dict[str, Cells], names: Sequence[str]) -> list[bytes]:
    """Return two parts per field: where it differs from the prediction, and the values there."""
    parts = []
    for name in names:
        values_of_field = cells[name]
        prediction = _predict(name, cells, shared, values_of_field.shape)
        differs = _bit_view(values_of_field) != _bit_view(np.broadcast_to(prediction, values_of_field.shape))
        if not differs.any():
            parts += [b"", b""]
            continue
        values_of_field = (
            _subtract_prediction(values_of_field, prediction) if name == "total" else values_of_field
        )
        values = np.ascontiguousarray(values_of_field[differs])
        mask = _ALL if differs.all() else zlib.compress(np.packbits(differs).tobytes())
        parts += [mask, pack_times(values) if values.dtype == np.int64 else pack_floats(values)]
    return parts


def unpack_cells(
    parts: Sequence[bytes],
    shared: dict[str, Cells],
    shape: tuple[int, int],
    names: Sequence[str],
    needed: Collection[str],
) -> dict[str, Cells]:
    """Return the fields that are needed; a field that is as predicted for all series has one row."""
    cells: dict[str, Cells] = {}
    for i, name in enumerate(names):
        mask, content = parts[2 * i : 2 * i + 2]
        if name not in needed:
            cells[name] = empty_buckets(name, 1, shape[1])
        elif not mask:
            cells[name] = _predict(name, cells, shared, (1, shape[1]))
        else:
            values = unpack_times(content) if name in ("first_at", "last_at") else unpack_floats(content)
            cells[name] = _fill(name, mask, values, cells, shared, shape)
    return cells


def _fill(
    name: str,
    mask: bytes,
    values: Floats | Times,
    cells: dict[str, Cells],
    shared: dict[str, Cells],
    shape: tuple[int, int],
) -> Cells:
    if mask == _ALL:
        whole: Cells = values.reshape(shape)
        return _add_prediction(whole, _predict(name, cells, shared, shape)) if name == "total" else whole
    differs = np.unpackbits(np.frombuffer(zlib.decompress(mask), np.uint8), count=shape[0] * shape[1])
    where = differs.astype(np.bool_).reshape(shape)
    cells_out: Cells = np.broadcast_to(_predict(name, cells, shared, shape), shape).copy()
    cells_out[where] = _add_prediction(values, cells_out[where]) if name == "total" else values
    return cells_out


def _subtract_prediction(totals: Floats, prediction: Floats) -> Floats:
    """Return distances of sums from the prediction, to 13 digits of the sum: the rest is rounding noise."""
    with np.errstate(all="ignore"):
        scale = 10.0 ** np.clip(12 - np.floor(np.log10(np.abs(totals))), 0, 15)
        exact = totals - prediction
        short = np.round(exact * scale) / scale
        return np.where(np.isfinite(short), short, np.where(np.isfinite(exact), exact, totals))


def _add_prediction(distance: Floats | Times, prediction: Floats) -> Floats:
    """Return the sums; an infinite one, or NaN, is stored as it is."""
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(distance) & np.isfinite(prediction), prediction + distance, distance)


def _predict(name: str, cells: dict[str, Cells], shared: dict[str, Cells], shape: tuple[int, int]) -> Cells:
    """Predict a field from the fields before it."""
    if name == "count":
        return shared[name].reshape(1, -1).astype(np.float64)
    some: Flags = cells["count"] > 0
    if name in SHARED:
        return np.where(some, shared[name].reshape(1, -1), 0)
    if name == "first":
        return cells["last"]
    with np.errstate(all="ignore"):
        if name == "low":
            return np.fmin(cells["first"], cells["last"])
        if name == "high":
            return np.fmax(cells["first"], cells["last"])
        if name == "total":
            return np.where(some, _predict_total(cells["count"], cells["first"], cells["last"]), 0.0)
    return empty_buckets(name, 1, shape[1])


def _predict_total(count: Floats, first: Floats, last: Floats) -> Floats:
    """Return the sum of values evenly spaced between first and last."""
    with np.errstate(all="ignore"):
        return count * (first / 2 + last / 2)


def _bit_view(cells: Cells) -> Cells:
    return np.ascontiguousarray(cells).view(np.uint64)
