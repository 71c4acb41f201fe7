"""A lock that is fair: who asks again at once stands behind those who wait."""

from __future__ import annotations

import threading
from types import TracebackType


class FairLock:
    """Python's own locks go to the thread that just let go, before those who wait have woken up."""

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
