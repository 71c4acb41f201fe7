"""Copies a store while a server runs on it.

The log is copied first: a row that leaves it afterwards is already in the blocks, which are copied in one
read transaction. So every sample acknowledged before the backup is in the copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

from vigie.store.directory_lock import sync_directory
from vigie.store.errors import StoreError

BUSY_SECONDS = 10.0
PAGES_PER_STEP = 4096
Progress = Callable[[str, int, int], None]  # file, done, total


def backup(data: Path, destination: Path, progress: Progress) -> int:
    """Copy the store into a new directory; return its size in bytes."""
    if not (data / "format").is_file():
        raise StoreError(
            f"{data} is not a data directory of vigie; give the one that the server uses: --data DIR"
        )
    if destination.exists():
        raise StoreError(f"{destination} exists; a backup goes into a new directory")
    partial_copy = destination.with_name(destination.name + ".partial")
    shutil.rmtree(partial_copy, ignore_errors=True)  # left by an interrupted backup
    try:
        (partial_copy / "log").mkdir(parents=True)
        copy_file(data / "format", partial_copy / "format")
        _copy_log(data / "log", partial_copy / "log", progress)
        for path in sorted(data.glob("*.sqlite")):
            copy_database(path, partial_copy / path.name, progress)
        sync_directory(partial_copy)
        partial_copy.rename(destination)
        sync_directory(destination.absolute().parent)
    except OSError as error:
        raise StoreError(f"cannot write the backup {destination}: {error.strerror or error}") from error
    return sum(path.stat().st_size for path in destination.rglob("*") if path.is_file())


def _copy_log(source: Path, destination: Path, progress: Progress) -> None:
    segments = sorted(source.glob("*.log"))
    for done, path in enumerate(segments):
        progress("log", done, len(segments))
        try:
            copy_file(path, destination / path.name)
        except FileNotFoundError:
            continue  # dropped in the meantime: all of it is in blocks
    sync_directory(destination)


def copy_file(source: Path, destination: Path) -> None:
    with source.open("rb") as source_database, destination.open("wb") as target_database:
        shutil.copyfileobj(source_database, target_database, 1 << 20)
        target_database.flush()
        os.fsync(target_database.fileno())


def copy_database(source: Path, destination: Path, progress: Progress) -> None:
    """Copy an SQLite database in one read transaction."""
    try:
        source_database = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", BUSY_SECONDS, uri=True)
        target_database = sqlite3.connect(destination)
        try:
            # A single read transaction: otherwise every write would restart the copy.
            source_database.execute("BEGIN")
            source_database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            source_database.backup(
                target_database,
                pages=PAGES_PER_STEP,
                progress=lambda _, left, pages: progress(source.name, pages - left, pages),
            )
        finally:
            target_database.close()
            source_database.close()
    except sqlite3.Error as error:
        raise StoreError(f"cannot copy {source}: {error}") from error
