"""The blobs of a chunk side by side in few rows: a row for each would cost more than some of them hold.

A place is one number: which row, and where in it. A row is cut where it fills SQLite's pages, so that a blob
may end in the row behind the one that it begins in; no blob begins in a row beyond a size.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from vigie.store.errors import Damaged
from vigie.store.pressing.codec import faults

BITS = 13
FULL = 1 << BITS  # bytes: longer rows fill SQLite's pages better, shorter ones are read faster
# Of a row that is longer than a page some bytes stand beside others, and the rest fills pages of its own.
# These are the numbers of pages of 2048 bytes; with others rows are as right, and fill pages less well.
PAGE, BESIDE, LONGEST, HEAD = 2044, 232, 2013, 5
_PLACE = struct.Struct("<I")


def bundled(blobs: Sequence[bytes]) -> tuple[list[bytes], bytes]:
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


class Places:
    """Where the blobs of one chunk are, which has so many rows."""

    def __init__(self, packed: bytes, rows: int) -> None:
        self._packed, self._rows = packed, rows

    def __len__(self) -> int:
        return len(self._packed) // _PLACE.size

    def rows(self, blob: int) -> range:
        """Return in which rows a blob is."""
        row = self._place(blob) >> BITS
        after = self._place(blob + 1) if blob + 1 < len(self) else self._rows << BITS
        return range(row, min(max(row + 1, -(-after // FULL)), row + 2))

    def cut(self, rows: Mapping[int, bytes], blob: int) -> bytes:
        """Return a blob, given its rows."""
        here = self._place(blob)
        after = self._place(blob + 1) if blob + 1 < len(self) else self._rows << BITS
        parts = [rows[row] for row in self.rows(blob)]
        if after >> BITS == (here >> BITS) + len(parts) - 1:
            parts[-1] = parts[-1][: after % FULL]
        parts[0] = parts[0][here % FULL :]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def faults(self, rows: Mapping[int, bytes]) -> list[str]:
        """Return what is wrong with the blobs, given the rows that there are."""
        found = []
        for blob in range(len(self)):
            missing = any(row not in rows for row in self.rows(blob))
            found += ["a row is missing"] if missing else faults(self.cut(rows, blob))
        return found

    def _place(self, blob: int) -> int:
        try:
            place: int = _PLACE.unpack_from(self._packed, blob * _PLACE.size)[0]
        except struct.error:
            raise Damaged(f"the place of the values {blob} of a chunk is missing") from None
        return place
