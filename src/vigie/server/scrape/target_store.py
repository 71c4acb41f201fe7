"""The exporters to scrape, kept in SQLite: added and removed while the server runs."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from vigie.server.scrape.target import InvalidTargetError, Target, same_host
from vigie.store.errors import NewerFormatError, StoreError, WriteFailedError

FORMAT = 1
MAX_TARGETS = 20_000
BUSY_SECONDS = 10.0
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS target (
    url TEXT PRIMARY KEY,
    address TEXT NOT NULL,
    path TEXT NOT NULL,
    scheme TEXT NOT NULL,
    labels TEXT NOT NULL
) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
"""


class TargetConflictError(InvalidTargetError):
    """A target that cannot be beside those that are there."""


class TargetStore:
    """Any thread may ask and change; those who watch are told after each change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._watchers: list[Callable[[], None]] = []
        try:
            self._database = sqlite3.connect(
                path, BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._targets = self._opened()
            self._named = _named(self._targets)
        except (sqlite3.Error, ValueError) as error:
            raise StoreError(f"cannot open {path}: {error}") from error

    def close(self) -> None:
        self._database.close()

    def watch(self, changed: Callable[[], None]) -> None:
        """Call this after each change."""
        self._watchers.append(changed)

    def all(self) -> Sequence[Target]:
        """Return the targets, ordered by where they are."""
        return sorted(self._targets.values(), key=lambda target: target.url)

    def has(self, instance: str, job: str) -> bool:
        """Tell whether there is a target of this name and job."""
        return (instance, job) in self._named

    def add(self, targets: Iterable[Target]) -> None:
        """Take targets, all or none; one that is known gets the new labels."""
        with self._guard:
            changed = {t.url: t for t in targets if self._targets.get(t.url) != t}
            after = self._targets | changed
            _check(after, changed)
            rows = [
                (t.url, t.address, t.path, t.scheme, json.dumps(dict(t.labels))) for t in changed.values()
            ]
            self._write("INSERT OR REPLACE INTO target VALUES (?, ?, ?, ?, ?)", rows)
            self._targets = after
            self._named = _named(after)
        self._tell(bool(changed))

    def remove(self, host: str) -> list[Target]:
        """Remove all targets of a host, compared whole, and return them."""
        with self._guard:
            gone = [target for target in self._targets.values() if target.host == same_host(host)]
            self._write("DELETE FROM target WHERE url = ?", [(target.url,) for target in gone])
            self._targets = {url: target for url, target in self._targets.items() if target not in gone}
            self._named = _named(self._targets)
        self._tell(bool(gone))
        return gone

    def _tell(self, changed: bool) -> None:
        for watcher in self._watchers if changed else ():
            watcher()

    def _opened(self) -> dict[str, Target]:
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise NewerFormatError(f"{self._path} is of a later version of vigie; run that one")
        self._database.executescript(_SCHEMA)
        rows = self._database.execute("SELECT address, labels, path, scheme FROM target").fetchall()
        targets = [
            Target(address, json.loads(labels), path, scheme) for address, labels, path, scheme in rows
        ]
        return {target.url: target for target in targets}

    def _write(self, statement: str, rows: Sequence[tuple[str, ...]]) -> None:
        if not rows:
            return
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany(statement, rows)
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise WriteFailedError(f"cannot write to {self._path}: {error}; is the disk full?") from error


def _named(targets: dict[str, Target]) -> frozenset[tuple[str, str]]:
    return frozenset((target.labels["instance"], target.labels["job"]) for target in targets.values())


def _check(after: dict[str, Target], changed: dict[str, Target]) -> None:
    if len(after) > MAX_TARGETS:
        raise TargetConflictError(f"there would be {len(after)} targets, and the bound is {MAX_TARGETS}")
    owners: dict[tuple[tuple[str, str], ...], str] = {}
    for url, target in after.items():
        key = tuple(sorted(target.labels.items()))
        other = owners.setdefault(key, url)
        if other != url and (url in changed or other in changed):
            raise TargetConflictError(
                f"{other} and {url} have the same labels, so their series could not be told apart: "
                "give one of them another job, or a label instance of its own"
            )
