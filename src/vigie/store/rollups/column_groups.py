"""Compresses the buckets of several metrics together: each field as integer deltas from a prediction.

For a counter, low and high are its first and last value, and its first value is close to the last one of the
previous bucket, so most deltas are small or zero. Series that are neither integers nor have few decimals are
stored as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import msgpack
from numpy.typing import NDArray

from vigie.query.arrays import Flags
from vigie.query.buckets import EMPTY_VALUES, FIELDS, Buckets, Cells
from vigie.store.compression.codec import ROLLUP, THOROUGH, Floats, compress, decompress_integers, seal
from vigie.store.compression.column_groups import (
    POWERS_OF_TEN,
    common_divisors,
    pack_headers,
    to_decimals,
    unpack_headers,
)
from vigie.store.compression.decimals import Integers
from vigie.store.compression.magnitudes import compress_vectors, decompress_vectors
from vigie.store.rollups import cell_codec as rollup_cells
from vigie.store.rollups.cell_codec import SHARED

SUM_BITS = 22  # precision of sums, beyond that of count times the largest value
_LARGEST = 2.0**60  # of sums, so that computations with them fit 64 bits
_VALUES = ("last", "first", "low", "high")
_DELTAS = ("last", "first", "low", "high", "total", "drops", "rest")
_FLOATS = 1 << len(_DELTAS)  # in place of the set of deltas: the series is not integers
_FIRST_BUCKET = (1, 0, 0, 0, 0, 0, 0)  # first bucket of each delta: where a series starts is stored apart
_PARTS = 3 + len(_DELTAS)

Headers = NDArray[np.uint8]  # per series: which deltas it has, and its decimals


class _Page(NamedTuple):
    """All series of a page: headers, first values, units and deltas."""

    headers: Headers
    bases: Integers
    units: Integers
    deltas: Sequence[Integers]


def pack_columns(
    column_groups: Sequence[tuple[int, int]], buckets: Buckets, shared: dict[str, Cells]
) -> list[bytes]:
    """Return the sealed bytes of each column group."""
    height = column_groups[-1][1] if column_groups else 0
    cells = {name: _broadcast(getattr(buckets, name), height) for name in FIELDS}
    page = _encode_page(cells)
    same_times = all(len(getattr(buckets, name)) == 1 for name in SHARED)
    return [_pack_group(page, cells, shared, slice(*group), same_times) for group in column_groups]


def unpack_columns(
    content: bytes, shared: dict[str, Cells], shape: tuple[int, int], needed: Collection[str]
) -> dict[str, Cells]:
    """Return the needed fields of a column group."""
    parts = msgpack.decode(content, type=list[bytes])
    headers = unpack_headers(parts[0], shape[0], 2)
    floats = headers[:, 0] == _FLOATS
    rest = parts[_PARTS:]
    if floats.all():
        return rollup_cells.unpack_cells(rest, shared, shape, FIELDS, needed)
    whole = (int((~floats).sum()), shape[1])
    shared_parts, rest = (rest[: 2 * len(SHARED)], rest[2 * len(SHARED) :]) if len(rest) % 18 else ([], rest)
    shared_parts = shared_parts or [b""] * 2 * len(SHARED)
    cells = rollup_cells.unpack_cells(shared_parts, shared, whole, SHARED, needed)
    cells |= _decode_integers(parts[1:_PARTS], headers[~floats], cells["count"], needed)
    if not rest:
        return cells
    others = rollup_cells.unpack_cells(rest, shared, (shape[0] - whole[0], shape[1]), FIELDS, needed)
    return {name: _merge_cells(name, cells, others, floats) for name in FIELDS}


def _encode_page(cells: dict[str, Floats]) -> _Page:
    count, some = cells["count"], cells["count"] > 0
    numbers, decimals, units, fits = _to_integers(cells, some)
    last, first, low, high, sums, lost = np.split(numbers, len(_VALUES) + 2, axis=1)
    middle = _middle(first, last)
    drops = np.rint(lost / middle).astype(np.int64)
    beyond, dropped = sums - _predict_total(count, first, last), _dropped_bits(count, low, high)
    deltas = [
        last - _previous(last),
        first - _previous(last),
        np.minimum(first, last) - low,
        high - np.maximum(first, last),
        (beyond + (1 << dropped >> 1)) >> dropped,
        drops,
        lost - drops * middle,
    ]
    deltas = [np.where(some, delta, 0) for delta in deltas]
    present_deltas = np.zeros(len(last), dtype=np.int64)
    for i, delta in enumerate(deltas):
        present_deltas |= delta.any(axis=1).astype(np.int64) << i
    headers = np.stack([np.where(fits, present_deltas, _FLOATS), decimals], axis=1).astype(np.uint8)
    return _Page(headers, last[:, 0], units, deltas)


def _to_integers(cells: dict[str, Floats], some: Flags) -> tuple[Integers, Integers, Integers, Flags]:
    """Return values, sums and reset losses as integers, with their decimals and common divisors.

    The last result tells which series are such numbers, and not too large.
    """
    values = np.concatenate([_fill_forward(cells[name], some) for name in _VALUES], axis=1)
    numbers, decimals, fits = to_decimals(values)
    with np.errstate(all="ignore"):  # series that are not integers are masked below
        scale = POWERS_OF_TEN[decimals][:, np.newaxis]
        sums = np.concatenate([cells["total"], cells["lost"]], axis=1) * scale
        size = np.abs(values * scale).max(axis=1) * cells["count"].max(axis=1)
        size = np.maximum(size, np.abs(sums).max(axis=1))
        # Samples between first and last, low and high may have more decimals, which shows in the sums.
        shared_parts = np.abs(sums - np.rint(sums)).max(axis=1)
        fits &= (size < _LARGEST) & (shared_parts <= 1e-9 + 1e-14 * size)
    numbers[~fits], sums[~fits] = 0, 0
    numbers = np.concatenate([numbers, np.rint(sums).astype(np.int64)], axis=1)
    units = common_divisors(numbers)
    return numbers // units[:, np.newaxis], decimals, units, fits


def _pack_group(
    page: _Page, cells: dict[str, Floats], shared: dict[str, Cells], vectors: slice, same_times: bool
) -> bytes:
    headers, units = page.headers[vectors], page.units[vectors]
    floats = headers[:, 0] == _FLOATS
    parts = [
        pack_headers(headers),
        compress(page.bases[vectors][~floats], THOROUGH),
        compress(units[~floats], THOROUGH) if (units > 1).any() else b"",
    ]
    for i, delta in enumerate(page.deltas):
        selected = ~floats & (headers[:, 0] >> i & 1).astype(np.bool_)
        parts.append(compress_vectors(delta[vectors][selected][:, _FIRST_BUCKET[i] :], THOROUGH))
    if not same_times and not floats.all():
        parts += rollup_cells.pack_cells(_select_cells(cells, vectors, ~floats), shared, SHARED)
    if floats.any():
        parts += rollup_cells.pack_cells(_select_cells(cells, vectors, floats), shared, FIELDS)
    return seal(ROLLUP, 0, msgpack.encode(parts))


def _decode_integers(
    parts: Sequence[bytes], headers: Headers, count: Floats, needed: Collection[str]
) -> dict[str, Cells]:
    shape = (len(headers), count.shape[1])
    bases = decompress_integers(parts[0])

    def delta(name: str) -> Integers:
        place = _DELTAS.index(name)
        return _read_delta(
            parts[2 + place], (headers[:, 0] >> place & 1).astype(np.bool_), shape, _FIRST_BUCKET[place]
        )

    last: Integers = np.cumsum(delta("last"), axis=1) + bases[:, np.newaxis]
    first = _previous(last)
    first += delta("first")
    whole = {"last": last, "first": first}
    if "low" in needed:
        whole["low"] = np.minimum(first, last) - delta("low")
    if "high" in needed:
        whole["high"] = np.maximum(first, last) + delta("high")
    if "total" in needed:
        dropped = _dropped_bits(count, whole["low"], whole["high"])
        whole["total"] = _predict_total(count, first, last) + (delta("total") << dropped)
    if "lost" in needed:
        whole["lost"] = delta("rest")
        if parts[2 + _DELTAS.index("drops")]:
            whole["lost"] = whole["lost"] + delta("drops") * _middle(first, last)
    if parts[1]:
        units = decompress_integers(parts[1])[:, np.newaxis]
        whole = {name: each * units for name, each in whole.items()}
    scale = POWERS_OF_TEN[headers[:, 1]][:, np.newaxis]
    cells: dict[str, Cells] = {name: each / scale for name, each in whole.items()}
    none = count <= 0
    if none.any():
        # Usually all series lack samples at the same times.
        where = (slice(None), np.flatnonzero(none[0])) if len(none) == 1 else none
        for name, each in cells.items():
            each[where] = EMPTY_VALUES[name]
    return cells


def _merge_cells(name: str, cells: dict[str, Cells], others: dict[str, Cells], floats: Flags) -> Cells:
    one = cells.get(name, others[name])
    merged = np.empty((len(floats), one.shape[1]), dtype=one.dtype)
    merged[~floats], merged[floats] = one, others[name]
    return merged


def _read_delta(part: bytes, selected: Flags, shape: tuple[int, int], first: int) -> Integers:
    """Return one delta of all series; zero for series without it."""
    if not part:
        return np.zeros((1, shape[1]), dtype=np.int64)
    some = decompress_vectors(part, int(np.count_nonzero(selected)), shape[1] - first)
    if not first and selected.all():
        return some
    vectors = np.zeros(shape, dtype=np.int64)
    vectors[selected, first:] = some
    return vectors


def _select_cells(cells: dict[str, Floats], vectors: slice, selected: Flags) -> dict[str, Cells]:
    return {name: np.ascontiguousarray(each[vectors][selected]) for name, each in cells.items()}


def _broadcast(cells: Cells, height: int) -> Cells:
    return np.broadcast_to(cells, (height, cells.shape[1]))


def _predict_total(count: Floats, first: Integers, last: Integers) -> Integers:
    """Return the sum of values evenly spaced between first and last."""
    prediction: Integers = count.astype(np.int64) * (first + last) // 2
    return prediction


def _middle(first: Integers, last: Integers) -> Integers:
    middle: Integers = np.maximum(np.abs(first + last) // 2, 1)
    return middle


def _previous(last: Integers) -> Integers:
    return np.concatenate([last[:, :1], last[:, :-1]], axis=1)


def _dropped_bits(count: Floats, low: Integers, high: Integers) -> Integers:
    """Return how many low bits of each sum are dropped."""
    largest = np.maximum(np.abs(low), np.abs(high)) * count
    return np.maximum(np.frexp(largest)[1].astype(np.int64) - SUM_BITS, 0)


def _fill_forward(cells: Floats, some: Flags) -> Floats:
    """Fill buckets without samples with the previous value, leading ones with the first."""
    if some.all():
        return cells
    places = np.where(some, np.arange(some.shape[1]), -1)
    before = np.maximum.accumulate(places, axis=1)
    before = np.where(before < 0, some.argmax(axis=1)[:, np.newaxis], before)
    found = np.take_along_axis(cells, before, axis=1)
    return np.where(some.any(axis=1, keepdims=True), found, 0.0)
