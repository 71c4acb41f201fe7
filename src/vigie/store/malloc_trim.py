"""Gives back memory that upkeep needed for a while: glibc keeps the holes that it leaves."""

from __future__ import annotations

import ctypes

EVERY_MS = 60_000
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries keep less by themselves


class MallocTrim:
    """Looks now and then; a look takes some milliseconds, and a few more until freed pages are used again."""

    def __init__(self) -> None:
        self._next = 0

    def give_back(self, now_ms: int) -> None:
        """Let the system have what is free, if the last time is long ago or the clock was set back."""
        if _trim is None or self._next - EVERY_MS <= now_ms < self._next:
            return
        self._next = now_ms + EVERY_MS
        _trim(0)
