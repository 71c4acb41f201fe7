"""Opens a block file; if SQLite finds it damaged, copies what is intact into a new file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from vigie.store.blocks.block_store import BlockStore
from vigie.store.blocks.database import is_corrupt
from vigie.store.blocks.layout_store import CACHED_SERIES
from vigie.store.corruption import CorruptionLog
from vigie.store.errors import StoreError
from vigie.store.series.layout import Layouts

ROWS_AT_ONCE = 256
TABLES = ("stream", "schema", "layout")


def open_or_repair(
    path: Path, layouts: Layouts, corruption_log: CorruptionLog, cached_series: int = CACHED_SERIES
) -> BlockStore:
    """Return the block store, as far as it can be read."""
    open_file = partial(BlockStore, path, layouts, corruption_log, cached_series)
    try:
        return _open_readable(open_file)
    except StoreError as error:
        if not is_corrupt(error.__cause__):
            raise
        reason = str(error)
    damaged_path = _move_aside(path)
    blocks = open_file()
    copied, lost = _copy_intact(damaged_path, blocks)
    blocks.close()
    blocks = open_file()
    blocks.repaired = True
    corruption_log.add(
        f"{reason}; moved to {damaged_path.name}: {copied} of its chunks were copied and {lost} are lost; "
        "delete it when it is no longer needed"
    )
    return blocks


def _open_readable(open_file: Callable[[], BlockStore]) -> BlockStore:
    blocks = open_file()
    try:
        blocks.probe()
    except BaseException:
        blocks.close()
        raise
    return blocks


def _move_aside(path: Path) -> Path:
    damaged_path = path.with_suffix(".damaged")
    path.replace(damaged_path)
    for ending in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).replace(damaged_path.with_name(damaged_path.name + ending))
    return damaged_path


def _copy_intact(damaged_path: Path, blocks: BlockStore) -> tuple[int, int]:
    """Copy what can be read; return how many chunks were copied and how many were lost."""
    old = sqlite3.connect(damaged_path, isolation_level=None)
    try:
        with blocks.transaction():
            with contextlib.suppress(sqlite3.DatabaseError):  # even the first page may be missing
                # Otherwise SQLite refuses a file that is shorter than its first page says.
                old.execute("PRAGMA writable_schema = ON")
            for table in TABLES:
                for row in _iter_rows(old, table):
                    _insert(blocks, table, row)
            copied = _copy_chunks(old, blocks)
            for table in (*TABLES, "chunk"):
                _continue_numbering(old, blocks, table)
            return copied
    finally:
        old.close()


def _copy_chunks(old: sqlite3.Connection, blocks: BlockStore) -> tuple[int, int]:
    copied = 0
    streams = {number for (number,) in blocks.database.writer.execute("SELECT number FROM stream")}
    for row in _iter_rows(old, "chunk"):
        if row[1] not in streams:
            continue  # its stream is unknown
        first, count = row[6:8]
        query = "SELECT number, content FROM blob WHERE number >= ? AND number < ?"
        try:
            blobs = old.execute(query, (first, first + count)).fetchall()
        except sqlite3.DatabaseError:
            continue
        if len(blobs) == count:
            blocks.database.writer.executemany("INSERT INTO blob VALUES (?, ?)", blobs)
            _insert(blocks, "chunk", row)
            copied += 1
    return copied, _last_number(old, "chunk") - copied


def _continue_numbering(old: sqlite3.Connection, blocks: BlockStore, table: str) -> None:
    """Never reuse a number: rows that were copied may refer to lost ones."""
    writer = blocks.database.writer
    writer.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
    writer.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, _last_number(old, table)))


def _insert(blocks: BlockStore, table: str, row: tuple[Any, ...]) -> None:
    places = ", ".join("?" * len(row))
    blocks.database.writer.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", row)  # noqa: S608


def _iter_rows(old: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    for first in range(1, _last_number(old, table) + 1, ROWS_AT_ONCE):
        yield from _read_range(old, table, first, first + ROWS_AT_ONCE)


def _read_range(old: sqlite3.Connection, table: str, first: int, last: int) -> list[tuple[Any, ...]]:
    query = f"SELECT * FROM {table} WHERE number >= ? AND number < ?"  # noqa: S608 - one of ours
    try:
        return old.execute(query, (first, last)).fetchall()
    except sqlite3.DatabaseError:
        if last - first == 1:
            return []
    middle = (first + last) // 2
    return _read_range(old, table, first, middle) + _read_range(old, table, middle, last)


def _last_number(old: sqlite3.Connection, table: str) -> int:
    try:
        rows = old.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchall()
    except sqlite3.DatabaseError:
        return 0
    return rows[0][0] if rows else 0
