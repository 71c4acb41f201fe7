"""Reads blobs of several chunks together: one SQL query fetches a column group of many chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vigie.store.blocks.blob_packing import BlobIndex
from vigie.store.errors import CorruptionError

CHUNKS_PER_READ = 250


class BlobReader:
    """Reads ahead: with the blob of a chunk it fetches those of the following chunks."""

    def __init__(self, read: Callable[..., list[Any]], chunks: Sequence[tuple[int, BlobIndex]]) -> None:
        self._read, self._chunks = read, chunks  # number of each chunk's first row, and the locations in it
        self._fetched: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._chunks)

    def blob(self, chunk: int, group: int) -> bytes:
        """Return the sealed values of a column group of one chunk."""
        first, locations = self._chunks[chunk]
        location = locations.locate(group)
        numbers = [first + row for row in location.rows]
        if not all(map(self._fetched.__contains__, numbers)):
            following = self._chunks[chunk + 1 : chunk + CHUNKS_PER_READ]
            try:
                others = [
                    at + row for at, each in following if group < len(each) for row in each.locate(group).rows
                ]
                self._fetch([*numbers, *others])
            except CorruptionError:  # another one is unreadable; this one may be intact
                self._fetch(numbers)
        try:
            return location.cut([self._fetched[number] for number in numbers])
        except KeyError as missing:
            raise CorruptionError(f"the values {missing} of a chunk are missing") from None

    def _fetch(self, numbers: Sequence[int]) -> None:
        marks = ",".join("?" * len(numbers))
        query = f"SELECT number, content FROM blob WHERE number IN ({marks})"  # noqa: S608 - only marks
        self._fetched.update(self._read(query, *numbers))
