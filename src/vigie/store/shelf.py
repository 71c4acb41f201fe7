"""Blobs of chunks that are read together: those of one metric come with one question to the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vigie.store.errors import Damaged

AT_ONCE = 500


class Shelf:
    """Fetches, with a chunk's values of a metric, those of the chunks behind it, which are asked for next."""

    def __init__(self, read: Callable[..., list[Any]], firsts: Sequence[int]) -> None:
        self._read, self._firsts = read, firsts  # the number of each chunk's first blob
        self._fetched: dict[int, bytes] = {}

    def blob(self, place: int, metric: int) -> bytes:
        """Return the sealed values of a metric in one of the chunks."""
        number = self._firsts[place] + metric
        if number not in self._fetched:
            numbers = [first + metric for first in self._firsts[place : place + AT_ONCE]]
            marks = ",".join("?" * len(numbers))
            query = f"SELECT number, content FROM blob WHERE number IN ({marks})"  # noqa: S608 - only marks
            self._fetched.update(self._read(query, *numbers))
        content = self._fetched.pop(number, None)
        if content is None:
            raise Damaged(f"the values {number} of a chunk are missing")
        return content
