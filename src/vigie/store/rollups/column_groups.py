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
from vigie.query.buckets import FIELDS, NOTHING, Buckets, Cells
from vigie.store.compression.codec import ROLLED, THOROUGH, Floats, compress, decompress_whole, seal
from vigie.store.compression.column_groups import TENS, pack_heads, units_of, unpack_heads, whole_or_tenths
from vigie.store.compression.decimals import Whole
from vigie.store.compression.magnitudes import compress_lines, decompress_lines
from vigie.store.rollups import cell_codec as rollup_cells
from vigie.store.rollups.cell_codec import SHARED

BITS = 22  # precision of sums, beyond that of count times the largest value
_LARGEST = 2.0**60  # of sums, so that computations with them fit 64 bits
_VALUES = ("last", "first", "low", "high")
_WAYS = ("last", "first", "low", "high", "total", "drops", "rest")
_FLOATS = 1 << len(_WAYS)  # in place of the set of deltas: the series is not integers
_AT = (1, 0, 0, 0, 0, 0, 0)  # first bucket of each delta: where a series starts is stored apart
_PARTS = 3 + len(_WAYS)

Heads = NDArray[np.uint8]  # per series: which deltas it has, and its decimals


class _Page(NamedTuple):
    """All series of a page: headers, first values, units and deltas."""

    heads: Heads
    bases: Whole
    units: Whole
    ways: Sequence[Whole]


def pack_columns(bands: Sequence[tuple[int, int]], buckets: Buckets, shared: dict[str, Cells]) -> list[bytes]:
    """Return the sealed bytes of each column group."""
    height = bands[-1][1] if bands else 0
    cells = {name: _high(getattr(buckets, name), height) for name in FIELDS}
    page = _judged(cells)
    alike = all(len(getattr(buckets, name)) == 1 for name in SHARED)
    return [_packed(page, cells, shared, slice(*band), alike) for band in bands]


def unpack_columns(
    content: bytes, shared: dict[str, Cells], shape: tuple[int, int], needed: Collection[str]
) -> dict[str, Cells]:
    """Return the needed fields of a column group."""
    parts = msgpack.decode(content, type=list[bytes])
    heads = unpack_heads(parts[0], shape[0], 2)
    floats = heads[:, 0] == _FLOATS
    rest = parts[_PARTS:]
    if floats.all():
        return rollup_cells.unpack_cells(rest, shared, shape, FIELDS, needed)
    whole = (int((~floats).sum()), shape[1])
    beside, rest = (rest[: 2 * len(SHARED)], rest[2 * len(SHARED) :]) if len(rest) % 18 else ([], rest)
    beside = beside or [b""] * 2 * len(SHARED)
    cells = rollup_cells.unpack_cells(beside, shared, whole, SHARED, needed)
    cells |= _whole_cells(parts[1:_PARTS], heads[~floats], cells["count"], needed)
    if not rest:
        return cells
    others = rollup_cells.unpack_cells(rest, shared, (shape[0] - whole[0], shape[1]), FIELDS, needed)
    return {name: _together(name, cells, others, floats) for name in FIELDS}


def _judged(cells: dict[str, Floats]) -> _Page:
    count, some = cells["count"], cells["count"] > 0
    numbers, decimals, units, fits = _numbers(cells, some)
    last, first, low, high, sums, lost = np.split(numbers, len(_VALUES) + 2, axis=1)
    middle = _middle(first, last)
    drops = np.rint(lost / middle).astype(np.int64)
    beyond, lacking = sums - _guess(count, first, last), _lacking(count, low, high)
    ways = [
        last - _before(last),
        first - _before(last),
        np.minimum(first, last) - low,
        high - np.maximum(first, last),
        (beyond + (1 << lacking >> 1)) >> lacking,
        drops,
        lost - drops * middle,
    ]
    ways = [np.where(some, way, 0) for way in ways]
    has = np.zeros(len(last), dtype=np.int64)
    for i, way in enumerate(ways):
        has |= way.any(axis=1).astype(np.int64) << i
    heads = np.stack([np.where(fits, has, _FLOATS), decimals], axis=1).astype(np.uint8)
    return _Page(heads, last[:, 0], units, ways)


def _numbers(cells: dict[str, Floats], some: Flags) -> tuple[Whole, Whole, Whole, Flags]:
    """Return values, sums and reset losses as integers, with their decimals and common divisors.

    The last result tells which series are such numbers, and not too large.
    """
    values = np.concatenate([_carried(cells[name], some) for name in _VALUES], axis=1)
    numbers, decimals, fits = whole_or_tenths(values)
    with np.errstate(all="ignore"):  # series that are not integers are masked below
        scale = TENS[decimals][:, np.newaxis]
        sums = np.concatenate([cells["total"], cells["lost"]], axis=1) * scale
        size = np.abs(values * scale).max(axis=1) * cells["count"].max(axis=1)
        size = np.maximum(size, np.abs(sums).max(axis=1))
        # Samples between first and last, low and high may have more decimals, which shows in the sums.
        beside = np.abs(sums - np.rint(sums)).max(axis=1)
        fits &= (size < _LARGEST) & (beside <= 1e-9 + 1e-14 * size)
    numbers[~fits], sums[~fits] = 0, 0
    numbers = np.concatenate([numbers, np.rint(sums).astype(np.int64)], axis=1)
    units = units_of(numbers)
    return numbers // units[:, np.newaxis], decimals, units, fits


def _packed(
    page: _Page, cells: dict[str, Floats], shared: dict[str, Cells], lines: slice, alike: bool
) -> bytes:
    heads, units = page.heads[lines], page.units[lines]
    floats = heads[:, 0] == _FLOATS
    parts = [
        pack_heads(heads),
        compress(page.bases[lines][~floats], THOROUGH),
        compress(units[~floats], THOROUGH) if (units > 1).any() else b"",
    ]
    for i, way in enumerate(page.ways):
        chosen = ~floats & (heads[:, 0] >> i & 1).astype(np.bool_)
        parts.append(compress_lines(way[lines][chosen][:, _AT[i] :], THOROUGH))
    if not alike and not floats.all():
        parts += rollup_cells.pack_cells(_some(cells, lines, ~floats), shared, SHARED)
    if floats.any():
        parts += rollup_cells.pack_cells(_some(cells, lines, floats), shared, FIELDS)
    return seal(ROLLED, 0, msgpack.encode(parts))


def _whole_cells(
    parts: Sequence[bytes], heads: Heads, count: Floats, needed: Collection[str]
) -> dict[str, Cells]:
    shape = (len(heads), count.shape[1])
    bases = decompress_whole(parts[0])

    def way(name: str) -> Whole:
        place = _WAYS.index(name)
        return _spread(parts[2 + place], (heads[:, 0] >> place & 1).astype(np.bool_), shape, _AT[place])

    last: Whole = np.cumsum(way("last"), axis=1) + bases[:, np.newaxis]
    first = _before(last)
    first += way("first")
    whole = {"last": last, "first": first}
    if "low" in needed:
        whole["low"] = np.minimum(first, last) - way("low")
    if "high" in needed:
        whole["high"] = np.maximum(first, last) + way("high")
    if "total" in needed:
        lacking = _lacking(count, whole["low"], whole["high"])
        whole["total"] = _guess(count, first, last) + (way("total") << lacking)
    if "lost" in needed:
        whole["lost"] = way("rest")
        if parts[2 + _WAYS.index("drops")]:
            whole["lost"] = whole["lost"] + way("drops") * _middle(first, last)
    if parts[1]:
        units = decompress_whole(parts[1])[:, np.newaxis]
        whole = {name: each * units for name, each in whole.items()}
    scale = TENS[heads[:, 1]][:, np.newaxis]
    cells: dict[str, Cells] = {name: each / scale for name, each in whole.items()}
    none = count <= 0
    if none.any():
        # Usually all series lack samples at the same times.
        where = (slice(None), np.flatnonzero(none[0])) if len(none) == 1 else none
        for name, each in cells.items():
            each[where] = NOTHING[name]
    return cells


def _together(name: str, cells: dict[str, Cells], others: dict[str, Cells], floats: Flags) -> Cells:
    one = cells.get(name, others[name])
    made = np.empty((len(floats), one.shape[1]), dtype=one.dtype)
    made[~floats], made[floats] = one, others[name]
    return made


def _spread(part: bytes, chosen: Flags, shape: tuple[int, int], first: int) -> Whole:
    """Return one delta of all series; zero for series without it."""
    if not part:
        return np.zeros((1, shape[1]), dtype=np.int64)
    some = decompress_lines(part, int(np.count_nonzero(chosen)), shape[1] - first)
    if not first and chosen.all():
        return some
    lines = np.zeros(shape, dtype=np.int64)
    lines[chosen, first:] = some
    return lines


def _some(cells: dict[str, Floats], lines: slice, chosen: Flags) -> dict[str, Cells]:
    return {name: np.ascontiguousarray(each[lines][chosen]) for name, each in cells.items()}


def _high(cells: Cells, height: int) -> Cells:
    return np.broadcast_to(cells, (height, cells.shape[1]))


def _guess(count: Floats, first: Whole, last: Whole) -> Whole:
    """Return the sum of values evenly spaced between first and last."""
    guess: Whole = count.astype(np.int64) * (first + last) // 2
    return guess


def _middle(first: Whole, last: Whole) -> Whole:
    middle: Whole = np.maximum(np.abs(first + last) // 2, 1)
    return middle


def _before(last: Whole) -> Whole:
    return np.concatenate([last[:, :1], last[:, :-1]], axis=1)


def _lacking(count: Floats, low: Whole, high: Whole) -> Whole:
    """Return how many low bits of each sum are dropped."""
    largest = np.maximum(np.abs(low), np.abs(high)) * count
    return np.maximum(np.frexp(largest)[1].astype(np.int64) - BITS, 0)


def _carried(cells: Floats, some: Flags) -> Floats:
    """Fill buckets without samples with the previous value, leading ones with the first."""
    if some.all():
        return cells
    places = np.where(some, np.arange(some.shape[1]), -1)
    before = np.maximum.accumulate(places, axis=1)
    before = np.where(before < 0, some.argmax(axis=1)[:, np.newaxis], before)
    found = np.take_along_axis(cells, before, axis=1)
    return np.where(some.any(axis=1, keepdims=True), found, 0.0)
