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
    COLUMN_GROUP,
    DENSE,
    Floats,
    absent,
    absent_matrix,
    bits,
    compress,
    decompress,
    decompress_integers,
    pack_floats,
    seal,
    unpack_floats,
    unseal,
)
from vigie.store.compression.decimals import MAX_DECIMALS, Integers, round_vectors
from vigie.store.compression.magnitudes import compress_vectors, fill_vectors
from vigie.store.compression.row_selection import (
    ALL,
    RankedRows,
    Selection,
    rank_rows,
    scatter_rows,
    select_rows,
)
from vigie.store.series.layout import Columns

Flags = NDArray[np.bool_]
Kinds = NDArray[np.uint8]
CONSTANT, DELTAS, OFFSETS, FLOATS, GAPS = range(5)
_ENCODINGS = 8  # a kind is an encoding plus eight times the number of decimals
_ENCODING_OF = bytes(kind % _ENCODINGS for kind in range(256))
POWERS_OF_TEN = np.array([10.0**decimals for decimals in range(MAX_DECIMALS + 1)])
_TRIED = 8  # values to try before all are converted


class _Parts(NamedTuple):
    """The parts of a column group; empty where no vector has that encoding."""

    kinds: bytes
    constant: bytes = b""
    bases: bytes = b""  # of integer vectors: the first value of deltas, the center of distances
    units: bytes = b""  # common divisor of the deltas or distances of a vector
    deltas: bytes = b""
    offsets: bytes = b""
    floats: bytes = b""
    mask: bytes = b""
    dense: bytes = b""


_parts_of = msgpack.Decoder(_Parts).decode


def pack_column_groups(vectors: Floats, column_groups: Sequence[tuple[int, int]], level: int) -> list[bytes]:
    """Return the sealed bytes of each group, given as (first vector, stop)."""
    kinds, whole = _classify(vectors)
    return [
        _pack_group(vectors[start:stop], kinds[start:stop], whole[start:stop], level)
        for start, stop in column_groups
    ]


def _pack_group(vectors: Floats, kinds: Kinds, whole: Integers, level: int) -> bytes:
    encodings = kinds % _ENCODINGS
    if (encodings == CONSTANT).all():
        return _seal_group(vectors, _Parts(pack_headers(kinds), _compress_constants(vectors[:, 0], level)))
    delta_vectors, gaps = whole[encodings == DELTAS], vectors[encodings == GAPS]
    differences, present = delta_vectors[:, 1:] - delta_vectors[:, :-1], ~absent(gaps)
    bases, distances = _center(whole[encodings == OFFSETS])
    units = np.concatenate([common_divisors(differences), common_divisors(distances)])
    if (units > 1).any():
        differences //= units[: len(differences), np.newaxis]
        distances //= units[len(differences) :, np.newaxis]
    parts = _Parts(
        kinds=pack_headers(kinds),
        constant=_compress_constants(vectors[encodings == CONSTANT, 0], level),
        bases=compress(np.concatenate([delta_vectors[:, 0], bases]), level),
        units=compress(units, level) if (units > 1).any() else b"",
        deltas=compress_vectors(differences, level),
        offsets=compress_vectors(distances, level),
        floats=_compress_floats(vectors[encodings == FLOATS], level),
        mask=zlib.compress(np.packbits(present).tobytes(), 1) if len(present) else b"",
        dense=_compress_floats(gaps[present], level),
    )
    return _seal_group(vectors, parts)


def _seal_group(vectors: Floats, parts: _Parts) -> bytes:
    sparse = bool(parts.mask) or bool(absent(vectors[:, :1]).any())
    return seal(COLUMN_GROUP, 0 if sparse else DENSE, msgpack.encode(parts))


def fill_column_group(
    blob: bytes, height: int, rows: int, wanted: Columns | None, first: int, last: int, out: Floats
) -> None:
    """Write some vectors of a group, or all, from one row up to another."""
    _, _, content = unseal(blob)
    group = _GroupDecoder(_parts_of(content), rows, slice(first, last), out)
    if len(group.parts.kinds) == 1:  # all vectors have the same kind
        ranks = ALL if wanted is None else wanted
        group.fill(group.parts.kinds[0], RankedRows(ALL, ranks), 0, height)
        return
    kinds = zlib.decompress(group.parts.kinds)
    encodings = kinds.translate(_ENCODING_OF)
    for kind, found in rank_rows(kinds, encodings, wanted).items():
        encoding = kind % _ENCODINGS
        before = encodings.count(DELTAS) if encoding == OFFSETS else 0
        group.fill(kind, found, before, encodings.count(encoding))


class _GroupDecoder:
    """Decodes the vectors of one group into a matrix."""

    def __init__(self, parts: _Parts, rows: int, span: slice, out: Floats) -> None:
        self.parts, self._rows, self._span, self._out = parts, rows, span, out

    def fill(self, kind: int, found: RankedRows, before: int, height: int) -> None:
        """Write the vectors of one kind; `height` have their encoding, with bases from `before` on."""
        parts, rows, span = self.parts, self._rows, self._span
        encoding, decimals = kind % _ENCODINGS, kind // _ENCODINGS
        if encoding == CONSTANT:
            self._scatter(found, decompress(parts.constant)[:, np.newaxis])
        elif encoding == FLOATS:
            self._scatter(found, unpack_floats(parts.floats).reshape(-1, rows)[:, span])
        elif encoding == GAPS:
            self._scatter(found, _fill_gaps(parts, height, rows)[:, span])
        else:
            own = slice(before, before + height)
            whole = (
                self._decode_offsets(found.ranks, own)
                if encoding == OFFSETS
                else self._decode_deltas(found.ranks, own)
            )
            scatter_rows(self._out, found.places, whole / 10.0**decimals if decimals else whole)

    def _scatter(self, found: RankedRows, vectors: Floats | Integers) -> None:
        scatter_rows(self._out, found.places, select_rows(vectors, found.ranks))

    def _decode_offsets(self, ranks: Selection, own: slice) -> Integers:
        bases, units = self._bases_and_units(ranks, own)
        distances = np.empty((len(bases), self._rows), dtype=np.int64)
        fill_vectors(self.parts.offsets, ranks, distances)
        distances = distances[:, self._span]
        if units is not None:
            distances *= units
        distances += bases
        return distances

    def _decode_deltas(self, ranks: Selection, own: slice) -> Integers:
        """Accumulate deltas from the first value of each vector."""
        bases, units = self._bases_and_units(ranks, own)
        whole = np.empty((len(bases), self._rows), dtype=np.int64)
        fill_vectors(self.parts.deltas, ranks, whole[:, 1:])
        whole = whole[:, : self._span.stop]
        if units is not None:
            whole *= units
        whole[:, :1] = bases
        return np.add.accumulate(whole, axis=1, out=whole)[:, self._span]

    def _bases_and_units(self, ranks: Selection, own: slice) -> tuple[Integers, Integers | None]:
        """Return base and unit of each vector, as columns."""
        bases, units = decompress_integers(self.parts.bases), self.parts.units
        return _as_column(bases[own], ranks), _as_column(
            decompress_integers(units)[own], ranks
        ) if units else None


def _as_column(offsets: Integers, ranks: Selection) -> Integers:
    some: Integers = offsets.take(ranks) if isinstance(ranks, list) else offsets[ranks]
    return some[:, np.newaxis]


def _classify(vectors: Floats) -> tuple[Kinds, Integers]:
    """Return the kind of each vector, and all vectors as integers, valid where the kind is an integer one."""
    kinds = np.full(len(vectors), FLOATS, dtype=np.uint8)
    constant = (bits(vectors) == bits(vectors)[:, :1]).all(axis=1)
    whole = np.zeros(vectors.shape, dtype=np.int64)
    moving = np.flatnonzero(~constant)
    whole[moving], decimals, fits = to_decimals(vectors[moving])
    kinds[moving[fits]] = DELTAS + decimals[fits] * _ENCODINGS
    left = moving[~fits]
    kinds[left[absent(vectors[left]).any(axis=1)]] = GAPS
    kinds[_is_noise(vectors, kinds)] += OFFSETS - DELTAS
    kinds[constant] = CONSTANT
    return kinds, whole


def to_decimals(vectors: Floats) -> tuple[Integers, Integers, Flags]:
    """Return vectors as integers, the decimals of each, and which vectors that represents exactly."""
    whole, fits = round_vectors(vectors)
    decimals = np.zeros(len(vectors), dtype=np.int64)
    for tried in range(1, MAX_DECIMALS + 1):
        left = np.flatnonzero(~fits)
        left = left[_scale(vectors[left, :_TRIED], tried)[1]]
        if len(left):
            some, right = _scale(vectors[left], tried)
            left = left[right]
            whole[left], decimals[left], fits[left] = some[right], tried, True
    return whole, decimals, fits


def _scale(vectors: Floats, decimals: int) -> tuple[Integers, Flags]:
    """Return vectors scaled to integers, and which of them that represents bit for bit."""
    with np.errstate(all="ignore"):
        whole: Integers = np.rint(vectors * POWERS_OF_TEN[decimals]).astype(np.int64)
    return whole, (bits(whole / POWERS_OF_TEN[decimals]) == bits(vectors)).all(axis=1)


def _is_noise(vectors: Floats, kinds: Kinds) -> Columns:
    """Return which integer vectors have larger deltas than distances from their mean."""
    delta_vectors = np.flatnonzero(kinds % _ENCODINGS == DELTAS)
    offsets = vectors[delta_vectors]
    deltas = np.abs(offsets[:, 1:] - offsets[:, :-1]).sum(axis=1)
    offsets -= (offsets.sum(axis=1) / offsets.shape[1])[:, np.newaxis]
    noise: Flags = deltas > np.abs(offsets).sum(axis=1)
    return delta_vectors[noise]


def _center(whole: Integers) -> tuple[Integers, Integers]:
    """Return a center of each vector, and the distances from it."""
    bases: Integers = np.rint(whole.mean(axis=1)).astype(np.int64) if whole.size else whole.sum(axis=1)
    return bases, whole - bases[:, np.newaxis]


def common_divisors(differences: Integers) -> Integers:
    """Return the common divisor of each vector; a few values are tried first, since it is rarely above 1."""
    units = np.ones(len(differences), dtype=np.int64)
    for glance in (_TRIED, differences.shape[1]):
        left = np.flatnonzero(units > 1) if glance > _TRIED else np.arange(len(differences))
        units[left] = np.gcd.reduce(differences[left, :glance], axis=1, initial=0)
    return np.maximum(units, 1)


def pack_headers(headers: Kinds) -> bytes:
    """Pack a few bytes per vector; one entry if all are the same."""
    return headers[:1].tobytes() if (headers == headers[:1]).all() else zlib.compress(headers.tobytes())


def unpack_headers(part: bytes, height: int, width: int) -> Kinds:
    content = part * height if len(part) == width else zlib.decompress(part)
    return np.frombuffer(content, np.uint8, height * width).reshape(height, width)


def _compress_constants(values: Floats, level: int) -> bytes:
    whole, fits = round_vectors(values[np.newaxis])
    return compress(whole[0] if fits.all() else values, level)


def _compress_floats(values: Floats, level: int) -> bytes:
    return pack_floats(values, level=level) if values.size else b""


def _fill_gaps(parts: _Parts, height: int, rows: int) -> Floats:
    present = np.unpackbits(np.frombuffer(zlib.decompress(parts.mask), np.uint8), count=height * rows)
    values = absent_matrix(height, rows)
    if parts.dense:
        values.reshape(-1)[present.astype(np.bool_)] = unpack_floats(parts.dense)
    return values
