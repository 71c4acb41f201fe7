"""Packs the blobs of a chunk into few SQLite rows, because the overhead of a row exceeds many blobs.

The location of a blob is one number: row and offset. Rows are cut to fill SQLite pages, so a blob may end in
the row after the one it starts in. No blob starts beyond a fixed offset of a row.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vigie.store.compression.codec import find_faults
from vigie.store.errors import CorruptionError

OFFSET_BITS = 13
ROW_BYTES = 1 << OFFSET_BITS  # bytes: longer rows fill SQLite's pages better, shorter ones are read faster
# Of a row longer than a page, SQLite keeps some bytes in the b-tree page and the rest in overflow pages.
# These numbers are for pages of 2048 bytes; other page sizes work, with less well filled pages.
PAGE_BYTES, INLINE_BYTES, MAX_INLINE, HEADER_BYTES = 2044, 232, 2013, 5
_PLACE, _PAIR = struct.Struct("<I"), struct.Struct("<II")


def pack_blobs(blobs: Sequence[bytes]) -> tuple[list[bytes], bytes]:
    """Return the rows, and the packed location of each blob."""
    rows: list[bytes] = []
    starts: list[tuple[int, int]] = []  # row and offset of each blob
    row = bytearray()
    for blob in blobs:
        starts.append((len(rows), len(row)))
        row += blob
        if len(row) >= ROW_BYTES:
            _cut_row(rows, row, starts)
    if len(row) + HEADER_BYTES > MAX_INLINE:
        _cut_row(rows, row, starts)
    if row:
        rows.append(bytes(row))
    return rows, b"".join([_PLACE.pack(row << OFFSET_BITS | at) for row, at in starts])


def _cut_row(rows: list[bytes], row: bytearray, starts: list[tuple[int, int]]) -> None:
    """Write as many bytes of a row as fill pages; blobs that start after them move to the next row."""
    pages = (len(row) + HEADER_BYTES - INLINE_BYTES) // PAGE_BYTES
    if pages > 0:  # a blob continued from the previous row is never cut again
        size = pages * PAGE_BYTES + INLINE_BYTES - HEADER_BYTES
        rows.append(bytes(row[:size]))
        del row[:size]
        for i in range(len(starts) - 1, -1, -1):
            if starts[i] < (len(rows) - 1, size):
                break
            starts[i] = (len(rows), starts[i][1] - size)


class BlobLocation(NamedTuple):
    """Range of rows, start offset in the first and end offset in the last."""

    rows: range
    begin: int
    end: int | None  # None: the end of the row

    def cut(self, rows: Sequence[bytes]) -> bytes:
        if len(rows) == 1:
            return rows[0][self.begin : self.end]
        return rows[0][self.begin :] + rows[1][: self.end]


class BlobIndex:
    """Locations of the blobs of one chunk."""

    def __init__(self, packed: bytes, rows: int) -> None:
        self._packed, self._rows = packed, rows

    def __len__(self) -> int:
        return len(self._packed) // _PLACE.size

    def locate(self, blob: int) -> BlobLocation:
        at = blob * _PLACE.size
        try:
            if at + _PAIR.size <= len(self._packed):
                here, after = _PAIR.unpack_from(self._packed, at)
            else:
                (here,), after = _PLACE.unpack_from(self._packed, at), self._rows << OFFSET_BITS
        except struct.error:
            raise CorruptionError(f"the place of the values {blob} of a chunk is missing") from None
        row, last = here >> OFFSET_BITS, after >> OFFSET_BITS
        stop = min(max(row + 1, -(-after // ROW_BYTES)), row + 2)
        return BlobLocation(
            range(row, stop), here % ROW_BYTES, after % ROW_BYTES if last == stop - 1 else None
        )

    def find_faults(self, rows: Mapping[int, bytes]) -> list[str]:
        """Return the defects of the blobs, given the existing rows."""
        found = []
        for location in map(self.locate, range(len(self))):
            missing = any(row not in rows for row in location.rows)
            found += (
                ["a row is missing"]
                if missing
                else find_faults(location.cut([rows[row] for row in location.rows]))
            )
        return found
