"""Lines of numbers, one for each series, from sealed bytes: bands, and what format 3 wrote, metric by metric.

There, too, a line that never changes is one number, and a cell without a sample is a bit in a mask.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from vigie.store.heads.head import absent_matrix
from vigie.store.pressing.bands import fill_band
from vigie.store.pressing.codec import (
    BAND,
    GAPS,
    MIXED,
    STEADY,
    Floats,
    opened,
    unpack_floats,
    unpack_numbers,
    unshuffled,
)
from vigie.store.pressing.decimals import fill_floats
from vigie.store.series.layout import Columns

PRESSED = 2  # flag: the numbers of steady lines are many, and pressed
_LENGTH = struct.Struct("<I")


def fill_lines(
    blob: bytes, height: int, rows: int, wanted: Columns | None, first: int, last: int, out: Floats
) -> None:
    """Write some of a blob's lines, or all, from one of their rows up to another."""
    codec, _, content = opened(blob)
    if codec == BAND:
        fill_band(content, height, rows, wanted, first, last, out)
    elif codec == STEADY:
        values = _steady_values(blob)
        out[...] = (values if wanted is None else values[wanted])[:, np.newaxis]
    elif codec == MIXED:
        _fill_mixed(content, height, rows, wanted, first, last, out)
    else:
        gaps = codec == GAPS
        numbers, decimals = (_with_gaps(content, height * rows), 0) if gaps else unpack_numbers(blob)
        lines = numbers.reshape(height, rows)[:, first:last]
        fill_floats(out, lines if wanted is None else lines[wanted], decimals)


def _steady_values(blob: bytes) -> Floats:
    _, flag, content = opened(blob)
    if flag & PRESSED:
        return unshuffled(zlib.decompress(content)).view(np.float64)
    return np.frombuffer(content, np.float64)


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


def _with_gaps(content: bytes, size: int) -> Floats:
    (length,) = _LENGTH.unpack_from(content)
    at = _LENGTH.size + length
    mask = np.frombuffer(zlib.decompress(content[_LENGTH.size : at]), np.uint8)
    values: Floats = absent_matrix(1, size)[0]
    values[np.unpackbits(mask, count=size).astype(np.bool_)] = unpack_floats(content[at:])
    return values
