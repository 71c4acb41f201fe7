"""A small SQLite file that is written row by row, synced for many at once, and read by any thread."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

DAY_MS = 86_400_000


class Ledger:
    """What is kept beside the samples; any thread may call."""

    def __init__(self, path: Path, schema: str) -> None:
        self._added = self._synced = 0
        self._guard = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, timeout=10)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = normal")  # `sync` does it for many at once
        self._database.executescript(schema)

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            self._database.close()

    def sync(self) -> None:
        """Return when everything added before survives a power cut."""
        if self._synced == self._added:
            return  # without waiting for whoever reads
        with self._guard:
            added = self._added
            self._database.execute("pragma wal_checkpoint(full)")
            self._synced = added
