"""Returns free memory to the system: glibc keeps what maintenance needed for a short time."""

from __future__ import annotations

import ctypes

EVERY_MS = 60_000
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries keep less


class MallocTrim:
    """Rate-limited: a call takes some milliseconds, and reused pages have to be faulted in again."""

    def __init__(self) -> None:
        self._next = 0

    def trim(self, now_ms: int) -> None:
        """Trim, if the last call is long ago or the clock was set back."""
        if _trim is None or self._next - EVERY_MS <= now_ms < self._next:
            return
        self._next = now_ms + EVERY_MS
        _trim(0)
