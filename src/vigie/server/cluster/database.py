"""A small SQLite file that is written row by row, synced for many at once, and read by any thread."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

DAY_MS = 86_400_000
PRUNE_EVERY = 1000  # rows added or changed
Look = Callable[[str, Sequence[Any]], list[Any]]


def wall_clock() -> int:
    """Return the time in milliseconds."""
    return time.time_ns() // 1_000_000


class SqliteStore(ABC):
    """What is kept beside the samples; any thread may call."""

    def __init__(self, path: Path, schema: str, clock: Callable[[], int] = wall_clock) -> None:
        self._added = self._synced = self._pruned = 0
        self._clock = clock
        self._guard = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, timeout=10)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = normal")  # `sync` does it for many at once
        self._database.executescript(schema)
        self._reading = threading.Lock()
        self._reader = sqlite3.connect(path, check_same_thread=False, timeout=10)
        self._log, self._log_path = -1, f"{path}-wal"

    def close(self) -> None:
        """Let go of the file."""
        with self._reading:
            self._reader.close()
        with self._guard:
            self._database.close()
            if self._log >= 0:
                os.close(self._log)

    @abstractmethod
    def prune(self, now_ms: int) -> None:
        """Remove what is too old, or too much."""

    def _prune_if_due(self) -> None:
        if self._added - self._pruned >= PRUNE_EVERY:
            self._pruned = self._added
            self.prune(self._clock())

    def look(self, question: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a question that may take long; nobody who writes waits for it."""
        with self._reading:
            return self._reader.execute(question, values).fetchall()

    def sync(self) -> None:
        """Return when everything added before survives a power cut."""
        if self._synced == self._added:
            return
        with self._guard:
            added = self._added  # and committed: the log of the database has it
            if self._log < 0:
                self._log = os.open(self._log_path, os.O_RDONLY | os.O_CLOEXEC)
        os.fdatasync(self._log)  # not a checkpoint, which would wait for whoever reads
        self._synced = added
