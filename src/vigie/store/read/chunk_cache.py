"""Caches decompressed values of chunks: dashboards select the same ones again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from vigie.store.compression.codec import Floats

MOST_BYTES = 64 << 20
LARGEST = 1 << 20  # bytes read of one stream; more would evict everything else
MOST_ASKED = 100_000  # keys, of about 200 bytes each

Key = tuple[int, bytes]  # chunk number, which is never reused, and columns


class CachedLines(NamedTuple):
    """One row per column, and whether a cell may be absent."""

    values: Floats
    sparse: bool


class ChunkCache:
    """An LRU cache with a byte limit; values are cached when they are requested a second time."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[Key, CachedLines] = OrderedDict()
        self._asked: dict[Key, None] = {}  # requested once, not cached
        self._guard = threading.Lock()

    def find(self, keys: Sequence[Key]) -> list[CachedLines | None]:
        """Return the cached values of each key, or None."""
        with self._guard:
            found = [self._kept.get(key) for key in keys]
            for key, lines in zip(keys, found, strict=True):
                if lines is not None:
                    self._kept.move_to_end(key)
            return found

    def wants(self, key: Key) -> bool:
        """Report whether a key was requested before; most are requested only once."""
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
        """Cache values, which become read-only."""
        lines.values.setflags(write=False)
        with self._guard:
            if key not in self._kept:
                self._kept[key] = lines
                self._size += lines.values.nbytes
            while self._size > self._most:
                _, (values, _) = self._kept.popitem(last=False)
                self._size -= values.nbytes

    def reborn(self) -> None:
        """Continue in a forked child: a thread of the parent may have held the lock."""
        self._guard = threading.Lock()
        self._most = 0  # the parent's entries stay; a child runs each query once
