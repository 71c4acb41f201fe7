"""Blobs of chunks that are read together: those of one band come with one question to the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vigie.store.disk.bundles import Places
from vigie.store.errors import Damaged

AT_ONCE = 250


class Shelf:
    """Fetches, with a chunk's values of a band, those of the chunks behind it, which are asked for next."""

    def __init__(self, read: Callable[..., list[Any]], chunks: Sequence[tuple[int, Places]]) -> None:
        self._read, self._chunks = read, chunks  # the number of each chunk's first row, and what is where
        self._fetched: dict[int, bytes] = {}

    def blob(self, chunk: int, band: int) -> bytes:
        """Return the sealed values of a band in one of the chunks."""
        first, places = self._chunks[chunk]
        rows = places.rows(band)
        if any(first + row not in self._fetched for row in rows):
            behind = self._chunks[chunk : chunk + AT_ONCE]
            try:
                self._fetch([at + row for at, each in behind if band < len(each) for row in each.rows(band)])
            except Damaged:  # one of them is not readable; this one may be
                self._fetch([first + row for row in rows])
        for row in rows:
            if first + row not in self._fetched:
                raise Damaged(f"the values {first + row} of a chunk are missing")
        return places.cut({row: self._fetched[first + row] for row in rows}, band)

    def _fetch(self, numbers: Sequence[int]) -> None:
        marks = ",".join("?" * len(numbers))
        query = f"SELECT number, content FROM blob WHERE number IN ({marks})"  # noqa: S608 - only marks
        self._fetched.update(self._read(query, *numbers))
