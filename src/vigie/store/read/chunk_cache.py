"""Caches decompressed values of chunks: dashboards select the same ones again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from vigie.store.compression.codec import Floats

MAX_BYTES = 64 << 20
MAX_READ_BYTES = 1 << 20  # bytes read of one stream; more would evict everything else
MAX_SEEN = 100_000  # keys, of about 200 bytes each

Key = tuple[int, bytes]  # chunk number, which is never reused, and columns


class CachedValues(NamedTuple):
    """One row per column, and whether a cell may be absent."""

    values: Floats
    sparse: bool


class ChunkCache:
    """An LRU cache with a byte limit; values are cached when they are requested a second time."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._size = max_bytes, 0
        self._cached: OrderedDict[Key, CachedValues] = OrderedDict()
        self._seen_once: dict[Key, None] = {}  # requested once, not cached
        self._lock = threading.Lock()

    def find(self, keys: Sequence[Key]) -> list[CachedValues | None]:
        with self._lock:
            found = [self._cached.get(key) for key in keys]
            for key, lines in zip(keys, found, strict=True):
                if lines is not None:
                    self._cached.move_to_end(key)
            return found

    def is_repeated(self, key: Key) -> bool:
        """Report whether a key was requested before; most are requested only once."""
        if self._max_bytes <= 0:
            return False
        with self._lock:
            if key in self._seen_once:
                del self._seen_once[key]
                return True
            if len(self._seen_once) >= MAX_SEEN:
                self._seen_once.clear()
            self._seen_once[key] = None
            return False

    def put(self, key: Key, lines: CachedValues) -> None:
        """Cache values, which become read-only."""
        lines.values.setflags(write=False)
        with self._lock:
            if key not in self._cached:
                self._cached[key] = lines
                self._size += lines.values.nbytes
            while self._size > self._max_bytes:
                _, (values, _) = self._cached.popitem(last=False)
                self._size -= values.nbytes

    def after_fork(self) -> None:
        """Continue in a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        self._max_bytes = 0  # the parent's entries stay; a child runs each query once
