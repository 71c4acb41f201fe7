"""One SQLite file with two connections: one writes, one reads, and neither blocks the other."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from vigie.store.blocks.fair_lock import FairLock
from vigie.store.blocks.fork_barrier import ForkBarrier
from vigie.store.errors import CorruptionError, StoreError, WriteFailedError

READ_AHEAD_BYTES = 1 << 30  # bytes of page cache
BUSY_SECONDS = 10.0  # how long another process (a backup, a check) may hold the file
# Of a new file: with the default 4096 bytes, 5% of it would be unused space in pages.
_SETTINGS = """
PRAGMA page_size = 2048;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 8000;
PRAGMA journal_size_limit = 67108864;
"""


def is_corrupt(error: BaseException | None) -> bool:
    """Report whether the content is damaged, as opposed to a file that is locked, full or not accessible."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class BlockDatabase:
    """Whoever forks holds `write_lock` and `read_lock`, so that no thread is inside SQLite at that moment."""

    def __init__(self, path: Path, schema: str) -> None:
        self._path = path
        self.write_lock = FairLock()
        self.read_lock = threading.RLock()
        self._depth = 0  # nested reads that share the snapshot
        self.fork_barrier = ForkBarrier(path.with_name("forks"))
        try:
            with ExitStack() as opened:
                self.writer = opened.enter_context(closing(self._connect("rwc")))
                self.writer.executescript(_SETTINGS + schema)
                self._reader = opened.enter_context(closing(self._connect("rw")))
                self._reader.execute("PRAGMA query_only = 1")
                opened.pop_all()  # both stay open, unless one of them failed
        except sqlite3.Error as error:
            raise StoreError(f"cannot open {path}: {error}") from error

    def close(self) -> None:
        self._reader.close()
        self.writer.close()

    def read_ahead(self) -> None:
        """Let the kernel prefetch the end of the file, which has the newest data, for the first queries."""
        with self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            os.posix_fadvise(
                file.fileno(), max(0, size - READ_AHEAD_BYTES), READ_AHEAD_BYTES, os.POSIX_FADV_WILLNEED
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all that is done inside, or none of it."""
        with self.write_lock:
            try:
                self.writer.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self.writer.execute("COMMIT")
                except BaseException:
                    if self.writer.in_transaction:
                        self.writer.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                why = f"cannot write to {self._path}: {error}"
                raise WriteFailedError(why if is_corrupt(error) else f"{why}; is the disk full?") from error

    def begin(self) -> None:
        """Start a snapshot: all reads until `end` see the same data."""
        self.read_lock.acquire()
        self._depth += 1
        if self._depth == 1:
            with suppress(sqlite3.Error):  # the next read fails too, and reports it
                self._reader.execute("BEGIN")

    def end(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._reader.in_transaction:
            with suppress(sqlite3.Error):  # caused by an earlier read; the transaction ends all the same
                self._reader.execute("COMMIT")
        self.read_lock.release()

    def read(self, query: str, *values: int | str | None) -> list[Any]:
        with self.read_lock:
            try:
                return self._reader.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise CorruptionError(f"cannot read {self._path}: {error}") from error

    def after_fork(self) -> None:
        """Continue in a forked child with its own locks and a read-only connection."""
        self._inherited = (self.writer, self._reader)  # neither used nor closed: they belong to the parent
        self.write_lock, self.read_lock = FairLock(), threading.RLock()
        self._reader = self.writer = self._connect("ro")
        self._depth = 1  # never ends, so that every query here sees the same snapshot
        self._reader.execute("BEGIN")
        self._reader.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        self.fork_barrier.release()

    def _connect(self, mode: str) -> sqlite3.Connection:
        address = f"{self._path.absolute().as_uri()}?mode={mode}"
        return sqlite3.connect(address, BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True)
