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

from vigie.store.compression.codec import compress, decompress_whole
from vigie.store.compression.decimals import Whole
from vigie.store.compression.row_selection import ALL, Lines, rank_rows, scatter_rows, select_rows

ENOUGH = 400  # values per part
WIDTH = 1.0  # from the smallest to the largest of a part, as a power of two
_PARTED = b"g"  # unsplit content starts as codec.compress writes it
_parts_of = msgpack.Decoder(list[bytes]).decode
_ZLIB = b"\x78"  # part numbers are below this byte


def compress_lines(lines: Whole, level: int) -> bytes:
    parts = _parts(lines) if lines.size > ENOUGH else np.zeros(len(lines), dtype=np.uint8)
    if not parts.any():
        return compress(lines, level)
    plain = parts.tobytes()
    pressed = [compress(lines[parts == part], level) for part in range(int(parts.max()) + 1)]
    return _PARTED + msgpack.encode([min(plain, zlib.compress(plain), key=len), *pressed])


def decompress_lines(content: bytes, height: int, columns: int) -> Whole:
    lines = np.empty((height, columns), dtype=np.int64)
    fill_lines(content, ALL, lines)
    return lines


def fill_lines(content: bytes, chosen: Lines, out: Whole) -> None:
    """Write some of the vectors, or all; parts without any of them are not decompressed."""
    columns = out.shape[1]
    if content[:1] != _PARTED:
        lines = decompress_whole(content).reshape(-1, columns)
        out[...] = lines.take(chosen, axis=0) if isinstance(chosen, list) else lines[chosen]
        return
    plain, *pressed = _parts_of(content[1:])
    parts = zlib.decompress(plain) if plain[:1] == _ZLIB else plain
    if isinstance(chosen, slice):
        if len(out) == len(parts):
            _fill_all(parts, pressed, out)
            return
        chosen = list(range(*chosen.indices(len(parts))))
    for part, (places, ranks) in rank_rows(parts, parts, chosen).items():
        scatter_rows(out, places, select_rows(decompress_whole(pressed[part]).reshape(-1, columns), ranks))


def _fill_all(parts: bytes, pressed: Sequence[bytes], out: Whole) -> None:
    order = np.frombuffer(parts, np.uint8).argsort(kind="stable")
    at = 0
    for each in pressed:
        some = decompress_whole(each).reshape(-1, out.shape[1])
        out[order[at : at + len(some)]] = some
        at += len(some)


def _parts(lines: Whole) -> NDArray[np.uint8]:
    """Assign a part to each vector; a part ends when it has enough values and the next is larger."""
    sizes = np.log2(np.abs(lines.astype(np.float64)).mean(axis=1) + 2.0**-9)
    order = np.argsort(sizes, kind="stable")
    parts = np.zeros(len(lines), dtype=np.uint8)
    part, first, height = 0, float(sizes[order[0]]), 0
    for line, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        if size - first > WIDTH and height * lines.shape[1] >= ENOUGH and part < ord(_ZLIB) - 1:
            part, first, height = part + 1, size, 0
        parts[line] = part
        height += 1
    return parts
