"""Compresses the vectors of several metrics together, because a blob of its own has too much overhead.

Each vector has an encoding: constant, integers or decimals (as deltas, or as distances from a base where
that is shorter), floats, or floats with gaps. Vectors of one encoding are compressed as one array.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import msgpack
from numpy.typing import NDArray

from vigie.store.compression.codec import (
    BAND,
    DENSE,
    Floats,
    absent,
    absent_matrix,
    bits,
    compress,
    decompress,
    decompress_whole,
    pack_floats,
    seal,
    unpack_floats,
    unseal,
)
from vigie.store.compression.decimals import MOST_DECIMALS, Whole, whole_lines
from vigie.store.compression.magnitudes import compress_lines, fill_lines
from vigie.store.compression.row_selection import ALL, Lines, RankedRows, rank_rows, scatter_rows, select_rows
from vigie.store.series.layout import Columns

Flags = NDArray[np.bool_]
Kinds = NDArray[np.uint8]
STEADY, STEPS, NUMBERS, FLOATS, GAPS = range(5)
_SORTS = 8  # a kind is an encoding plus eight times the number of decimals
_SORT_OF = bytes(kind % _SORTS for kind in range(256))
TENS = np.array([10.0**decimals for decimals in range(MOST_DECIMALS + 1)])
_GLANCE = 8  # values to try before all are converted


class _Parts(NamedTuple):
    """The parts of a column group; empty where no vector has that encoding."""

    kinds: bytes
    steady: bytes = b""
    bases: bytes = b""  # of integer vectors: the first value of deltas, the center of distances
    units: bytes = b""  # common divisor of the deltas or distances of a vector
    steps: bytes = b""
    numbers: bytes = b""
    floats: bytes = b""
    mask: bytes = b""
    dense: bytes = b""


_parts_of = msgpack.Decoder(_Parts).decode


def pack_column_groups(lines: Floats, bands: Sequence[tuple[int, int]], level: int) -> list[bytes]:
    """Return the sealed bytes of each group, given as (first vector, stop)."""
    kinds, whole = _judged(lines)
    return [_packed(lines[start:stop], kinds[start:stop], whole[start:stop], level) for start, stop in bands]


def _packed(lines: Floats, kinds: Kinds, whole: Whole, level: int) -> bytes:
    sorts = kinds % _SORTS
    if (sorts == STEADY).all():
        return _sealed(lines, _Parts(pack_heads(kinds), _pressed_steady(lines[:, 0], level)))
    stepping, gaps = whole[sorts == STEPS], lines[sorts == GAPS]
    moves, there = stepping[:, 1:] - stepping[:, :-1], ~absent(gaps)
    bases, apart = _around(whole[sorts == NUMBERS])
    units = np.concatenate([units_of(moves), units_of(apart)])
    if (units > 1).any():
        moves //= units[: len(moves), np.newaxis]
        apart //= units[len(moves) :, np.newaxis]
    parts = _Parts(
        kinds=pack_heads(kinds),
        steady=_pressed_steady(lines[sorts == STEADY, 0], level),
        bases=compress(np.concatenate([stepping[:, 0], bases]), level),
        units=compress(units, level) if (units > 1).any() else b"",
        steps=compress_lines(moves, level),
        numbers=compress_lines(apart, level),
        floats=_pressed_floats(lines[sorts == FLOATS], level),
        mask=zlib.compress(np.packbits(there).tobytes(), 1) if len(there) else b"",
        dense=_pressed_floats(gaps[there], level),
    )
    return _sealed(lines, parts)


def _sealed(lines: Floats, parts: _Parts) -> bytes:
    holes = bool(parts.mask) or bool(absent(lines[:, :1]).any())
    return seal(BAND, 0 if holes else DENSE, msgpack.encode(parts))


def fill_column_group(
    blob: bytes, height: int, rows: int, wanted: Columns | None, first: int, last: int, out: Floats
) -> None:
    """Write some vectors of a group, or all, from one row up to another."""
    _, _, content = unseal(blob)
    band = _Band(_parts_of(content), rows, slice(first, last), out)
    if len(band.parts.kinds) == 1:  # all vectors have the same kind
        ranks = ALL if wanted is None else wanted
        band.fill(band.parts.kinds[0], RankedRows(ALL, ranks), 0, height)
        return
    kinds = zlib.decompress(band.parts.kinds)
    sorts = kinds.translate(_SORT_OF)
    for kind, found in rank_rows(kinds, sorts, wanted).items():
        sort = kind % _SORTS
        before = sorts.count(STEPS) if sort == NUMBERS else 0
        band.fill(kind, found, before, sorts.count(sort))


class _Band:
    """Decodes the vectors of one group into a matrix."""

    def __init__(self, parts: _Parts, rows: int, span: slice, out: Floats) -> None:
        self.parts, self._rows, self._span, self._out = parts, rows, span, out

    def fill(self, kind: int, found: RankedRows, before: int, height: int) -> None:
        """Write the vectors of one kind; `height` vectors have their encoding, with bases from `before` on."""
        parts, rows, span = self.parts, self._rows, self._span
        sort, decimals = kind % _SORTS, kind // _SORTS
        if sort == STEADY:
            self._put(found, decompress(parts.steady)[:, np.newaxis])
        elif sort == FLOATS:
            self._put(found, unpack_floats(parts.floats).reshape(-1, rows)[:, span])
        elif sort == GAPS:
            self._put(found, _with_gaps(parts, height, rows)[:, span])
        else:
            mine = slice(before, before + height)
            whole = self._numbers(found.ranks, mine) if sort == NUMBERS else self._summed(found.ranks, mine)
            scatter_rows(self._out, found.places, whole / 10.0**decimals if decimals else whole)

    def _put(self, found: RankedRows, lines: Floats | Whole) -> None:
        scatter_rows(self._out, found.places, select_rows(lines, found.ranks))

    def _numbers(self, ranks: Lines, mine: slice) -> Whole:
        bases, units = self._of(ranks, mine)
        apart = np.empty((len(bases), self._rows), dtype=np.int64)
        fill_lines(self.parts.numbers, ranks, apart)
        apart = apart[:, self._span]
        if units is not None:
            apart *= units
        apart += bases
        return apart

    def _summed(self, ranks: Lines, mine: slice) -> Whole:
        """Accumulate deltas from the first value of each vector."""
        bases, units = self._of(ranks, mine)
        whole = np.empty((len(bases), self._rows), dtype=np.int64)
        fill_lines(self.parts.steps, ranks, whole[:, 1:])
        whole = whole[:, : self._span.stop]
        if units is not None:
            whole *= units
        whole[:, :1] = bases
        return np.add.accumulate(whole, axis=1, out=whole)[:, self._span]

    def _of(self, ranks: Lines, mine: slice) -> tuple[Whole, Whole | None]:
        """Return base and unit of each vector, as columns."""
        bases, units = decompress_whole(self.parts.bases), self.parts.units
        return _beside(bases[mine], ranks), _beside(decompress_whole(units)[mine], ranks) if units else None


def _beside(numbers: Whole, ranks: Lines) -> Whole:
    some: Whole = numbers.take(ranks) if isinstance(ranks, list) else numbers[ranks]
    return some[:, np.newaxis]


def _judged(lines: Floats) -> tuple[Kinds, Whole]:
    """Return the kind of each vector, and all vectors as integers, valid where the kind is an integer one."""
    kinds = np.full(len(lines), FLOATS, dtype=np.uint8)
    steady = (bits(lines) == bits(lines)[:, :1]).all(axis=1)
    whole = np.zeros(lines.shape, dtype=np.int64)
    moving = np.flatnonzero(~steady)
    whole[moving], decimals, fits = whole_or_tenths(lines[moving])
    kinds[moving[fits]] = STEPS + decimals[fits] * _SORTS
    left = moving[~fits]
    kinds[left[absent(lines[left]).any(axis=1)]] = GAPS
    kinds[_is_noise(lines, kinds)] += NUMBERS - STEPS
    kinds[steady] = STEADY
    return kinds, whole


def whole_or_tenths(lines: Floats) -> tuple[Whole, Whole, Flags]:
    """Return vectors as integers, the decimals of each, and which vectors that represents exactly."""
    whole, fits = whole_lines(lines)
    decimals = np.zeros(len(lines), dtype=np.int64)
    for tried in range(1, MOST_DECIMALS + 1):
        left = np.flatnonzero(~fits)
        left = left[_tenths(lines[left, :_GLANCE], tried)[1]]
        if len(left):
            some, right = _tenths(lines[left], tried)
            left = left[right]
            whole[left], decimals[left], fits[left] = some[right], tried, True
    return whole, decimals, fits


def _tenths(lines: Floats, decimals: int) -> tuple[Whole, Flags]:
    """Return vectors scaled to integers, and which of them that represents bit for bit."""
    with np.errstate(all="ignore"):
        whole: Whole = np.rint(lines * TENS[decimals]).astype(np.int64)
    return whole, (bits(whole / TENS[decimals]) == bits(lines)).all(axis=1)


def _is_noise(lines: Floats, kinds: Kinds) -> Columns:
    """Return which integer vectors have larger deltas than distances from their mean."""
    stepping = np.flatnonzero(kinds % _SORTS == STEPS)
    numbers = lines[stepping]
    steps = np.abs(numbers[:, 1:] - numbers[:, :-1]).sum(axis=1)
    numbers -= (numbers.sum(axis=1) / numbers.shape[1])[:, np.newaxis]
    noise: Flags = steps > np.abs(numbers).sum(axis=1)
    return stepping[noise]


def _around(whole: Whole) -> tuple[Whole, Whole]:
    """Return a center of each vector, and the distances from it."""
    bases: Whole = np.rint(whole.mean(axis=1)).astype(np.int64) if whole.size else whole.sum(axis=1)
    return bases, whole - bases[:, np.newaxis]


def units_of(moves: Whole) -> Whole:
    """Return the common divisor of each vector; a few values are tried first, since it is rarely above 1."""
    units = np.ones(len(moves), dtype=np.int64)
    for glance in (_GLANCE, moves.shape[1]):
        left = np.flatnonzero(units > 1) if glance > _GLANCE else np.arange(len(moves))
        units[left] = np.gcd.reduce(moves[left, :glance], axis=1, initial=0)
    return np.maximum(units, 1)


def pack_heads(heads: Kinds) -> bytes:
    """Pack a few bytes per vector; one entry if all are the same."""
    return heads[:1].tobytes() if (heads == heads[:1]).all() else zlib.compress(heads.tobytes())


def unpack_heads(part: bytes, height: int, width: int) -> Kinds:
    content = part * height if len(part) == width else zlib.decompress(part)
    return np.frombuffer(content, np.uint8, height * width).reshape(height, width)


def _pressed_steady(values: Floats, level: int) -> bytes:
    whole, fits = whole_lines(values[np.newaxis])
    return compress(whole[0] if fits.all() else values, level)


def _pressed_floats(values: Floats, level: int) -> bytes:
    return pack_floats(values, level=level) if values.size else b""


def _with_gaps(parts: _Parts, height: int, rows: int) -> Floats:
    there = np.unpackbits(np.frombuffer(zlib.decompress(parts.mask), np.uint8), count=height * rows)
    values = absent_matrix(height, rows)
    if parts.dense:
        values.reshape(-1)[there.astype(np.bool_)] = unpack_floats(parts.dense)
    return values
