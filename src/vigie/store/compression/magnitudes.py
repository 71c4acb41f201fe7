"""Compresses integer vectors of similar magnitude together.

pcodec's entropy coding spends nearly as many bits on small numbers as on the large ones beside them, so
vectors are split by magnitude where each part has enough values to pay for its header.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from msgspec import msgpack
from numpy.typing import NDArray

from vigie.store.compression.codec import compress, decompress_integers
from vigie.store.compression.decimals import Integers
from vigie.store.compression.row_selection import ALL, Selection, rank_rows, scatter_rows, select_rows

MIN_PART_VALUES = 400  # values per part
MAX_SPREAD = 1.0  # from the smallest to the largest of a part, as a power of two
_SPLIT = b"g"  # unsplit content starts as codec.compress writes it
_parts_of = msgpack.Decoder(list[bytes]).decode
_ZLIB = b"\x78"  # part numbers are below this byte


def compress_vectors(vectors: Integers, level: int) -> bytes:
    parts = (
        _assign_parts(vectors) if vectors.size > MIN_PART_VALUES else np.zeros(len(vectors), dtype=np.uint8)
    )
    if not parts.any():
        return compress(vectors, level)
    part_numbers = parts.tobytes()
    compressed = [compress(vectors[parts == part], level) for part in range(int(parts.max()) + 1)]
    return _SPLIT + msgpack.encode([min(part_numbers, zlib.compress(part_numbers), key=len), *compressed])


def decompress_vectors(content: bytes, height: int, columns: int) -> Integers:
    vectors = np.empty((height, columns), dtype=np.int64)
    fill_vectors(content, ALL, vectors)
    return vectors


def fill_vectors(content: bytes, chosen: Selection, out: Integers) -> None:
    """Write some of the vectors, or all; parts without any of them are not decompressed."""
    columns = out.shape[1]
    if content[:1] != _SPLIT:
        vectors = decompress_integers(content).reshape(-1, columns)
        out[...] = vectors.take(chosen, axis=0) if isinstance(chosen, list) else vectors[chosen]
        return
    part_numbers, *compressed = _parts_of(content[1:])
    parts = zlib.decompress(part_numbers) if part_numbers[:1] == _ZLIB else part_numbers
    if isinstance(chosen, slice):
        if len(out) == len(parts):
            _fill_all(parts, compressed, out)
            return
        chosen = list(range(*chosen.indices(len(parts))))
    for part, (places, ranks) in rank_rows(parts, parts, chosen).items():
        scatter_rows(
            out, places, select_rows(decompress_integers(compressed[part]).reshape(-1, columns), ranks)
        )


def _fill_all(parts: bytes, compressed: Sequence[bytes], out: Integers) -> None:
    order = np.frombuffer(parts, np.uint8).argsort(kind="stable")
    at = 0
    for content in compressed:
        some = decompress_integers(content).reshape(-1, out.shape[1])
        out[order[at : at + len(some)]] = some
        at += len(some)


def _assign_parts(vectors: Integers) -> NDArray[np.uint8]:
    """Assign a part to each vector; a part ends when it has enough values and the next is larger."""
    sizes = np.log2(np.abs(vectors.astype(np.float64)).mean(axis=1) + 2.0**-9)
    order = np.argsort(sizes, kind="stable")
    parts = np.zeros(len(vectors), dtype=np.uint8)
    part, first, height = 0, float(sizes[order[0]]), 0
    for vector, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        if (
            size - first > MAX_SPREAD
            and height * vectors.shape[1] >= MIN_PART_VALUES
            and part < ord(_ZLIB) - 1
        ):
            part, first, height = part + 1, size, 0
        parts[vector] = part
        height += 1
    return parts
