"""The blobs of a chunk side by side in few rows: a row for each would cost more than some of them hold.

A place is one number: which row, and where in it. A row is full with the blob that makes it pass a size, so
only that one may be long, and where a blob begins is always below that size.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from vigie.store.codec import faults
from vigie.store.errors import Damaged

BITS = 13
FULL = (
    1 << BITS
)  # bytes, two pages of SQLite: longer rows fill its pages better, shorter ones are read faster
_PLACE = struct.Struct("<I")


def bundled(blobs: Sequence[bytes]) -> tuple[list[bytes], bytes]:
    """Return the rows, and for each blob its place."""
    rows: list[bytes] = []
    places, row = bytearray(), bytearray()
    for blob in blobs:
        places += _PLACE.pack(len(rows) << BITS | len(row))
        row += blob
        if len(row) >= FULL:
            rows.append(bytes(row))
            row = bytearray()
    if row:
        rows.append(bytes(row))
    return rows, bytes(places)


class Places:
    """Where the blobs of one chunk are."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed) // _PLACE.size

    def row(self, blob: int) -> int:
        """Return in which row a blob is."""
        return self._place(blob) >> BITS

    def cut(self, row: bytes, blob: int) -> bytes:
        """Return a blob, given its row."""
        here = self._place(blob)
        after = self._place(blob + 1) if blob + 1 < len(self) else -1
        same = after >> BITS == here >> BITS
        return row[here % FULL : after % FULL if same else None]

    def faults(self, rows: Mapping[int, bytes]) -> list[str]:
        """Return what is wrong with the blobs, given the rows that there are."""
        found = []
        for blob in range(len(self)):
            row = rows.get(self.row(blob))
            found += ["a row is missing"] if row is None else faults(self.cut(row, blob))
        return found

    def _place(self, blob: int) -> int:
        try:
            place: int = _PLACE.unpack_from(self._packed, blob * _PLACE.size)[0]
        except struct.error:
            raise Damaged(f"the place of the values {blob} of a chunk is missing") from None
        return place
