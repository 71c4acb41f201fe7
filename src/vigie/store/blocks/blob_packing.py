"""The blobs of a chunk side by side in few rows: a row for each would cost more than some of them hold.

A place is one number: which row, and where in it. A row is cut where it fills SQLite's pages, so that a blob
may end in the row behind the one that it begins in; no blob begins in a row beyond a size.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vigie.store.compression.codec import faults
from vigie.store.errors import CorruptionError

BITS = 13
FULL = 1 << BITS  # bytes: longer rows fill SQLite's pages better, shorter ones are read faster
# Of a row that is longer than a page some bytes stand beside others, and the rest fills pages of its own.
# These are the numbers of pages of 2048 bytes; with others rows are as right, and fill pages less well.
PAGE, BESIDE, LONGEST, HEAD = 2044, 232, 2013, 5
_PLACE, _PAIR = struct.Struct("<I"), struct.Struct("<II")


def pack_blobs(blobs: Sequence[bytes]) -> tuple[list[bytes], bytes]:
    """Return the rows, and for each blob its place."""
    rows: list[bytes] = []
    starts: list[tuple[int, int]] = []  # of each blob: its row, and where in it
    row = bytearray()
    for blob in blobs:
        starts.append((len(rows), len(row)))
        row += blob
        if len(row) >= FULL:
            _cut(rows, row, starts)
    if len(row) + HEAD > LONGEST:
        _cut(rows, row, starts)
    if row:
        rows.append(bytes(row))
    return rows, b"".join([_PLACE.pack(row << BITS | at) for row, at in starts])


def _cut(rows: list[bytes], row: bytearray, starts: list[tuple[int, int]]) -> None:
    """Write as much of a row as fills pages; what begins behind that begins in the next one."""
    pages = (len(row) + HEAD - BESIDE) // PAGE
    if pages > 0:  # so what a blob has in this row from the one before is never cut again
        size = pages * PAGE + BESIDE - HEAD
        rows.append(bytes(row[:size]))
        del row[:size]
        for i in range(len(starts) - 1, -1, -1):
            if starts[i] < (len(rows) - 1, size):
                break
            starts[i] = (len(rows), starts[i][1] - size)


class BlobLocation(NamedTuple):
    """Where a blob is: from which row to which, where in the first it begins, and ends in the last."""

    rows: range
    begin: int
    end: int | None  # None for where the row ends

    def cut(self, rows: Sequence[bytes]) -> bytes:
        if len(rows) == 1:
            return rows[0][self.begin : self.end]
        return rows[0][self.begin :] + rows[1][: self.end]


class BlobIndex:
    """Where the blobs of one chunk are, which has so many rows."""

    def __init__(self, packed: bytes, rows: int) -> None:
        self._packed, self._rows = packed, rows

    def __len__(self) -> int:
        return len(self._packed) // _PLACE.size

    def of(self, blob: int) -> BlobLocation:
        at = blob * _PLACE.size
        try:
            if at + _PAIR.size <= len(self._packed):
                here, after = _PAIR.unpack_from(self._packed, at)
            else:
                (here,), after = _PLACE.unpack_from(self._packed, at), self._rows << BITS
        except struct.error:
            raise CorruptionError(f"the place of the values {blob} of a chunk is missing") from None
        row, last = here >> BITS, after >> BITS
        stop = min(max(row + 1, -(-after // FULL)), row + 2)
        return BlobLocation(range(row, stop), here % FULL, after % FULL if last == stop - 1 else None)

    def faults(self, rows: Mapping[int, bytes]) -> list[str]:
        """Return what is wrong with the blobs, given the rows that there are."""
        found = []
        for place in map(self.of, range(len(self))):
            missing = any(row not in rows for row in place.rows)
            found += ["a row is missing"] if missing else faults(place.cut([rows[row] for row in place.rows]))
        return found
