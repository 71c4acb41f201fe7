"""A fair lock: threads get it in the order in which they asked."""

from __future__ import annotations

import threading
from types import TracebackType


class FairLock:
    """Python's own locks can go back to the thread that released them before a waiting thread wakes up."""

    def __init__(self) -> None:
        self._door = threading.Lock()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._door:
            self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
