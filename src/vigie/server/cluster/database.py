"""cluster.sqlite: nodes, events, bindings, jobs and node activity in one versioned file."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vigie.store.errors import StoreError

FILE = "cluster.sqlite"
OLD_FILES = ("nodes.sqlite", "events.sqlite", "bindings.sqlite", "absences.sqlite")
BUSY_SECONDS = 10.0
DAY_MS = 86_400_000
PRUNE_EVERY = 1000  # rows added or changed
# Step n brings a file of version n - 1 to version n. A step that was released is never edited: add another.
MIGRATIONS = (
    """
create table nodes (name text primary key, facts text not null);
create table activity (node text primary key, facts text not null);
create table events (
    id integer primary key autoincrement, node text not null, kind text not null, begin_ms integer not null,
    end_ms integer, what text not null, place text not null, severity text not null,
    unique (node, kind, begin_ms, what));
create index events_by_begin on events (begin_ms, id);
create index events_by_kind on events (kind, begin_ms);
create table bindings (
    id integer primary key autoincrement, node text not null, resource text not null, kind text not null,
    holder text not null, from_ms integer not null, to_ms integer, how integer not null, user text not null,
    source text not null, facts text not null, unique (node, resource, kind, holder, from_ms));
create index bindings_by_from on bindings (from_ms, id);
create index bindings_by_holder on bindings (holder, kind);
create index open_bindings_by_node on bindings (node) where to_ms is null;
create index open_bindings_by_from on bindings (from_ms, id) where to_ms is null;
create table jobs (
    number integer primary key autoincrement, id text not null unique, user text not null,
    state text not null, queued_ms integer, start_ms integer not null, end_ms integer, nodes text not null,
    gpus text not null, source text not null, facts text not null);
create index jobs_by_start on jobs (start_ms, number);
create index jobs_by_user on jobs (user);
""",
    # The node that reported a binding, if it is on another one; and by what else a job is known.
    """
alter table bindings add column reporter text not null default '';
create index open_bindings_by_reporter on bindings (reporter) where to_ms is null;
create table job_aliases (alias text primary key, job text not null) without rowid;
""",
)
Query = Callable[[str, Sequence[Any]], list[sqlite3.Row]]
log = logging.getLogger(__name__)


class NewerSchemaError(StoreError):
    """The file was written by a newer vigie."""


def wall_clock() -> int:
    """Return the time in milliseconds."""
    return time.time_ns() // 1_000_000


class ClusterDatabase:
    """One connection that writes, and one for each reader; any thread may call."""

    def __init__(self, path: Path) -> None:
        self._path, self._wal, self._synced_changes = path, -1, 0
        self._lock = threading.RLock()
        self._readers: list[Reader] = []
        _report_old_files(path.parent)
        self.connection = _connect(path)
        try:
            self.connection.execute("pragma journal_mode = wal")
            self.connection.execute("pragma synchronous = normal")  # `sync` does it for many commits at once
            migrate(self.connection, path)
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        with self._lock:
            self.connection.close()
            if self._wal >= 0:
                os.close(self._wal)
                self._wal = -1

    def open_reader(self) -> Reader:
        """Return a connection of its own for queries that may take long: nobody who writes waits for them."""
        self._readers.append(Reader(self._path))
        return self._readers[-1]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit what is written within, or roll it back on an error."""
        with self._lock, self.connection:
            yield self.connection

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return the rows of a short query, newest writes included."""
        with self._lock:
            return self.connection.execute(statement, values).fetchall()

    def sync(self) -> None:
        """Return when everything committed before survives a power cut."""
        with self._lock:
            changes = self.connection.total_changes
            if self._synced_changes == changes:
                return
            if self._wal < 0:
                self._wal = os.open(f"{self._path}-wal", os.O_RDONLY | os.O_CLOEXEC)
        os.fdatasync(self._wal)  # not a checkpoint, which would wait for readers
        self._synced_changes = changes


class Reader:
    """A connection that only reads."""

    def __init__(self, path: Path) -> None:
        self._lock, self._connection = threading.Lock(), _connect(path)

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()


class SqliteStore(ABC):
    """Tables of the database that grow, and lose what is too old or too many."""

    def __init__(self, database: ClusterDatabase, clock: Callable[[], int]) -> None:
        self._database, self._clock = database, clock
        self._query = database.open_reader().query
        self._changed_rows = 0

    @abstractmethod
    def prune(self, now_ms: int) -> None:
        """Remove what is too old, or too many."""

    def _prune_if_due(self) -> None:
        if self._changed_rows >= PRUNE_EVERY:
            self._changed_rows = 0
            self.prune(self._clock())


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[str] = MIGRATIONS) -> None:
    """Bring a file to the newest schema version, each step in a transaction."""
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > len(steps):
        raise NewerSchemaError(
            f"{path}: schema version {version} is newer than {len(steps)}, the newest that this vigie knows. "
            "Upgrade vigie, or restore a backup"
        )
    for number, step in enumerate(steps[version:], version + 1):
        try:
            connection.executescript(f"begin; {step} pragma user_version = {number}; commit;")
        except sqlite3.Error:
            connection.rollback()
            raise


def check_database(path: Path) -> Iterator[str]:
    """Yield what is wrong with a file, without writing to it; without a file there is nothing yet."""
    if not path.exists():
        return
    try:
        with contextlib.closing(_connect(path.absolute().as_uri() + "?mode=ro")) as connection:
            (version,) = connection.execute("pragma user_version").fetchone()
            if not 0 < version <= len(MIGRATIONS):
                yield f"{path}: unknown schema version {version}"
            for (fault,) in connection.execute("pragma integrity_check").fetchall():
                if fault != "ok":
                    yield f"{path}: {fault}"
    except sqlite3.Error as error:
        yield f"cannot read {path}: {error}"


def _connect(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, check_same_thread=False, timeout=BUSY_SECONDS, uri=isinstance(path, str)
    )
    connection.row_factory = sqlite3.Row
    return connection


def _report_old_files(data: Path) -> None:
    if old := [name for name in OLD_FILES if (data / name).exists()]:
        log.warning("%s: %s of an older version are not read; see %s", data, ", ".join(old), FILE)
