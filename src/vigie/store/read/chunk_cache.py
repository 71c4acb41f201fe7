"""Values of chunks that were unpacked lately: dashboards ask about the same ones again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from vigie.store.compression.codec import Floats

MOST_BYTES = 64 << 20
LARGEST = 1 << 20  # bytes that are read of one stream: more would only push everything else out
MOST_ASKED = 100_000  # that are remembered, of 200 bytes or so

Key = tuple[int, bytes]  # a chunk by its number, which is never used again, and the columns


class CachedLines(NamedTuple):
    """One line for each column, and whether a cell may be absent."""

    values: Floats
    sparse: bool


class ChunkCache:
    """Holds so many bytes at most; what was not asked for longest goes first."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[Key, CachedLines] = OrderedDict()
        self._asked: dict[Key, None] = {}  # once, and not kept
        self._guard = threading.Lock()

    def find(self, keys: Sequence[Key]) -> list[CachedLines | None]:
        """Return what was kept of each; None where nothing was."""
        with self._guard:
            found = [self._kept.get(key) for key in keys]
            for key, lines in zip(keys, found, strict=True):
                if lines is not None:
                    self._kept.move_to_end(key)
            return found

    def wants(self, key: Key) -> bool:
        """Tell whether these were asked for before: most that is asked for once is not asked for again."""
        if self._most <= 0:
            return False
        with self._guard:
            if key in self._asked:
                del self._asked[key]
                return True
            if len(self._asked) >= MOST_ASKED:
                self._asked.clear()
            self._asked[key] = None
            return False

    def put(self, key: Key, lines: CachedLines) -> None:
        """Keep lines that nobody changes any more."""
        lines.values.setflags(write=False)
        with self._guard:
            if key not in self._kept:
                self._kept[key] = lines
                self._size += lines.values.nbytes
            while self._size > self._most:
                _, (values, _) = self._kept.popitem(last=False)
                self._size -= values.nbytes

    def reborn(self) -> None:
        """Go on in a forked child, where nobody will let go of the lock that a thread of the parent held."""
        self._guard = threading.Lock()
        self._most = 0  # what the parent had stays, and a child's own question comes only once
