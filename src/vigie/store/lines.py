"""Lines of numbers, one for each series, to sealed bytes and back, metric by metric.

A line that never changes is one number, and a cell without a sample is a bit in a mask: so what is pressed
is dense and moves, and most of it is whole numbers.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vigie.store.codec import (
    DENSE,
    GAPS,
    MIXED,
    STEADY,
    Floats,
    absent,
    bits,
    opened,
    pack_floats,
    pack_whole,
    seal,
    shuffled,
    unpack_floats,
    unpack_numbers,
    unshuffled,
)
from vigie.store.decimals import fill_floats, whole_lines
from vigie.store.head import absent_matrix
from vigie.store.layout import Columns

PRESSED = 2  # flag: the numbers of steady lines are many, and pressed
FEW = 8  # numbers that are written as they are
_LENGTH = struct.Struct("<I")
Flags = NDArray[np.bool_]


def pack_lines(lines: Floats, metrics: Sequence[tuple[int, int]], level: int) -> list[bytes]:
    """Return the sealed bytes of each metric, given the first of its lines and the one behind its last."""
    if not metrics:
        return []
    steady = (bits(lines) == bits(lines)[:, :1]).all(axis=1)
    holes = absent(lines).any(axis=1)
    whole, fits = whole_lines(lines)
    starts = [start for start, _ in metrics]
    steady_all, fits_all = (np.logical_and.reduceat(each, starts).tolist() for each in (steady, fits))
    steady_any, holes_any = (np.logical_or.reduceat(each, starts).tolist() for each in (steady, holes))
    firsts, blobs = np.ascontiguousarray(lines[:, 0]), []
    for i, (start, stop) in enumerate(metrics):
        part = lines[start:stop]
        if steady_all[i]:
            blobs.append(_steady(firsts[start:stop], bool(holes_any[i])))
        elif steady_any[i]:
            blobs.append(_mixed(part, steady[start:stop], bool(holes_any[i]), level))
        elif fits_all[i]:
            blobs.append(pack_whole(whole[start:stop], level))
        else:
            blobs.append(_moving(part, bool(holes_any[i]), level))
    return blobs


def fill_lines(
    blob: bytes, height: int, rows: int, wanted: Columns | None, first: int, last: int, out: Floats
) -> None:
    """Write some of a metric's lines, or all, from one of their rows up to another."""
    codec, _, content = opened(blob)
    if codec == STEADY:
        values = _steady_values(blob)
        out[...] = (values if wanted is None else values[wanted])[:, np.newaxis]
    elif codec == MIXED:
        _fill_mixed(content, height, rows, wanted, first, last, out)
    else:
        gaps = codec == GAPS
        numbers, decimals = (_with_gaps(content, height * rows), 0) if gaps else unpack_numbers(blob)
        lines = numbers.reshape(height, rows)[:, first:last]
        fill_floats(out, lines if wanted is None else lines[wanted], decimals)


def _flag(holes: bool) -> int:
    return 0 if holes else DENSE


def _steady(values: Floats, holes: bool) -> bytes:
    if len(values) <= FEW:
        return seal(STEADY, _flag(holes), values.tobytes())
    return seal(STEADY, _flag(holes) | PRESSED, zlib.compress(shuffled(bits(values)), 1))


def _steady_values(blob: bytes) -> Floats:
    _, flag, content = opened(blob)
    if flag & PRESSED:
        return unshuffled(zlib.decompress(content)).view(np.float64)
    return np.frombuffer(content, np.float64)


def _mixed(part: Floats, steady: Flags, holes: bool, level: int) -> bytes:
    """Return the bytes of lines of which some never change: which, their numbers, and the others."""
    numbers, moving = _steady(part[steady, 0], holes), part[~steady]
    others = _moving(moving, holes and bool(absent(moving).any()), level)
    mask = np.packbits(steady).tobytes()
    return seal(MIXED, _flag(holes), _LENGTH.pack(len(numbers)) + mask + numbers + others)


def _fill_mixed(
    content: bytes, height: int, rows: int, wanted: Columns | None, first: int, last: int, out: Floats
) -> None:
    (length,) = _LENGTH.unpack_from(content)
    at = _LENGTH.size + -(-height // 8)
    mask = np.frombuffer(content[_LENGTH.size : at], np.uint8)
    steady = np.unpackbits(mask, count=height).astype(np.bool_)
    values, others = _steady_values(content[at : at + length]), content[at + length :]
    place = np.where(steady, np.cumsum(steady), np.cumsum(~steady)) - 1  # of a line among those of its sort
    chosen = steady if wanted is None else steady[wanted]
    place = place if wanted is None else place[wanted]
    out[chosen] = values[place[chosen]][:, np.newaxis]
    if not chosen.all():
        some = np.empty((len(chosen) - int(chosen.sum()), last - first))
        fill_lines(others, height - len(values), rows, place[~chosen], first, last, some)
        out[~chosen] = some


def _moving(part: Floats, holes: bool, level: int) -> bytes:
    if not holes:
        return pack_floats(part, level=level)
    there = ~absent(part)
    mask = zlib.compress(np.packbits(there).tobytes(), 1)
    return seal(GAPS, 0, _LENGTH.pack(len(mask)) + mask + pack_floats(part[there], level=level))


def _with_gaps(content: bytes, size: int) -> Floats:
    (length,) = _LENGTH.unpack_from(content)
    at = _LENGTH.size + length
    mask = np.frombuffer(zlib.decompress(content[_LENGTH.size : at]), np.uint8)
    values: Floats = absent_matrix(1, size)[0]
    values[np.unpackbits(mask, count=size).astype(np.bool_)] = unpack_floats(content[at:])
    return values
