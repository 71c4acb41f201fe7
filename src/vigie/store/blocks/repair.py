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
from vigie.store.blocks.layout_store import KEPT_SERIES
from vigie.store.corruption import CorruptionLog
from vigie.store.errors import StoreError
from vigie.store.series.layout import Layouts

ROWS_AT_ONCE = 256
TABLES = ("stream", "outline", "layout")


def open_or_repair(
    path: Path, layouts: Layouts, damages: CorruptionLog, kept_series: int = KEPT_SERIES
) -> BlockStore:
    """Return the block store, as far as it can be read."""
    open_file = partial(BlockStore, path, layouts, damages, kept_series)
    try:
        return _readable(open_file)
    except StoreError as error:
        if not is_corrupt(error.__cause__):
            raise
        said = str(error)
    aside = _put_aside(path)
    blocks = open_file()
    kept, lost = _copy(aside, blocks)
    blocks.close()
    blocks = open_file()
    blocks.salvaged = True
    damages.add(
        f"{said}; it is put aside as {aside.name}, of its chunks {kept} were copied and {lost} are lost; "
        f"remove it when nothing in it is needed any more"
    )
    return blocks


def _readable(open_file: Callable[[], BlockStore]) -> BlockStore:
    blocks = open_file()
    try:
        blocks.probe()
    except BaseException:
        blocks.close()
        raise
    return blocks


def _put_aside(path: Path) -> Path:
    aside = path.with_suffix(".damaged")
    path.replace(aside)
    for ending in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).replace(aside.with_name(aside.name + ending))
    return aside


def _copy(aside: Path, blocks: BlockStore) -> tuple[int, int]:
    """Copy what can be read; return how many chunks were copied and how many were lost."""
    old = sqlite3.connect(aside, isolation_level=None)
    try:
        with blocks.transaction():
            with contextlib.suppress(sqlite3.DatabaseError):  # even the first page may be missing
                # Otherwise SQLite refuses a file that is shorter than its first page says.
                old.execute("PRAGMA writable_schema = ON")
            for table in TABLES:
                for row in _rows(old, table):
                    _insert(blocks, table, row)
            kept = _copy_chunks(old, blocks)
            for table in (*TABLES, "chunk"):
                _go_on_counting(old, blocks, table)
            return kept
    finally:
        old.close()


def _copy_chunks(old: sqlite3.Connection, blocks: BlockStore) -> tuple[int, int]:
    kept = 0
    streams = {number for (number,) in blocks.database.writer.execute("SELECT number FROM stream")}
    for row in _rows(old, "chunk"):
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
            kept += 1
    return kept, _last(old, "chunk") - kept


def _go_on_counting(old: sqlite3.Connection, blocks: BlockStore, table: str) -> None:
    """Never reuse a number: rows that were copied may refer to lost ones."""
    writer = blocks.database.writer
    writer.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
    writer.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, _last(old, table)))


def _insert(blocks: BlockStore, table: str, row: tuple[Any, ...]) -> None:
    places = ", ".join("?" * len(row))
    blocks.database.writer.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", row)  # noqa: S608


def _rows(old: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    for first in range(1, _last(old, table) + 1, ROWS_AT_ONCE):
        yield from _some(old, table, first, first + ROWS_AT_ONCE)


def _some(old: sqlite3.Connection, table: str, first: int, last: int) -> list[tuple[Any, ...]]:
    query = f"SELECT * FROM {table} WHERE number >= ? AND number < ?"  # noqa: S608 - one of ours
    try:
        return old.execute(query, (first, last)).fetchall()
    except sqlite3.DatabaseError:
        if last - first == 1:
            return []
    middle = (first + last) // 2
    return _some(old, table, first, middle) + _some(old, table, middle, last)


def _last(old: sqlite3.Connection, table: str) -> int:
    try:
        rows = old.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchall()
    except sqlite3.DatabaseError:
        return 0
    return rows[0][0] if rows else 0
