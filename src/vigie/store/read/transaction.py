"""A consistent read: memory does not change, and the disk shows one snapshot."""

from __future__ import annotations

import threading
from types import TracebackType

from vigie.store.blocks.database import BlockDatabase


class ReadTransaction:
    """Held while bytes are fetched, not while they are decompressed."""

    def __init__(self, lock: threading.RLock, database: BlockDatabase) -> None:
        self._lock, self._database = lock, database

    def __enter__(self) -> None:
        self._lock.acquire()
        self._database.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._database.end()
        finally:
            self._lock.release()
