"""Blobs of chunks that are read together: those of one band come with one question to the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vigie.store.blocks.blob_packing import BlobIndex
from vigie.store.errors import CorruptionError

AT_ONCE = 250


class BlobReader:
    """Fetches, with a chunk's values of a band, those of the chunks behind it, which are asked for next."""

    def __init__(self, read: Callable[..., list[Any]], chunks: Sequence[tuple[int, BlobIndex]]) -> None:
        self._read, self._chunks = read, chunks  # the number of each chunk's first row, and what is where
        self._fetched: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._chunks)

    def blob(self, chunk: int, band: int) -> bytes:
        """Return the sealed values of a band in one of the chunks."""
        first, places = self._chunks[chunk]
        place = places.of(band)
        numbers = [first + row for row in place.rows]
        if not all(map(self._fetched.__contains__, numbers)):
            behind = self._chunks[chunk + 1 : chunk + AT_ONCE]
            try:
                others = [at + row for at, each in behind if band < len(each) for row in each.of(band).rows]
                self._fetch([*numbers, *others])
            except CorruptionError:  # one of them is not readable; this one may be
                self._fetch(numbers)
        try:
            return place.cut([self._fetched[number] for number in numbers])
        except KeyError as missing:
            raise CorruptionError(f"the values {missing} of a chunk are missing") from None

    def _fetch(self, numbers: Sequence[int]) -> None:
        marks = ",".join("?" * len(numbers))
        query = f"SELECT number, content FROM blob WHERE number IN ({marks})"  # noqa: S608 - only marks
        self._fetched.update(self._read(query, *numbers))
