"""The file that keeps accounts and tokens, hashed, for its owner's eyes only."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vigie.store.errors import StoreError

NAME = "secrets.db"
VERSION = 1
BUSY_SECONDS = 10.0  # `vigie users` may be writing at the same moment
_SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS account (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT, made INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS token (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, owner TEXT NOT NULL,
    hash BLOB NOT NULL, made INTEGER NOT NULL, expires INTEGER, used INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS token_owner ON token (owner, kind);
"""


class SecretsError(StoreError):
    """Secrets that cannot be kept or changed as asked; the message says why and what to type."""


class SecretsFile:
    """An SQLite file that a server and `vigie users` may have open at the same time."""

    def __init__(self, directory: Path, *, make: bool = True) -> None:
        self.path = directory / NAME
        self._turn = threading.RLock()
        if make:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            if stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                raise SecretsError(f"{self.path} can be read by others: chmod 600 it")
            self._connection = self._open()
        except (OSError, sqlite3.Error) as error:
            hint = "" if make else "; a server makes it when it first starts, see --data"
            raise SecretsError(f"cannot open {self.path}: {error}{hint}") from None

    def close(self) -> None:
        with self._turn:
            self._connection.close()

    def read(self, query: str, *values: Any) -> list[Any]:
        with self._turn, self._explained("read"):
            return self._connection.execute(query, values).fetchall()

    def write(self, statement: str, *values: Any) -> int:
        """Make one change, and return how many rows it touched."""
        with self.changes():
            return self._connection.execute(statement, values).rowcount

    @contextlib.contextmanager
    def changes(self) -> Iterator[None]:
        """Make all that is done inside durable at its end, or none of it."""
        with self._turn:
            if self._connection.in_transaction:
                yield
                return
            with self._explained("write to"):
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise

    @contextlib.contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise SecretsError(f"cannot {doing} {self.path}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(
            address, BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise SecretsError(
                    f"{self.path} has format {version}, this vigie knows up to {VERSION}; use a newer vigie"
                )
            connection.executescript(f"{_SETTINGS}{_SCHEMA}PRAGMA user_version = {VERSION};")
        except BaseException:
            connection.close()
            raise
        return connection
