"""Chunks of sealed values in one SQLite file, committed with synchronous=FULL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

from vigie.store.blocks import layout_store
from vigie.store.blocks.blob_packing import BlobIndex, pack_blobs
from vigie.store.blocks.blob_reader import BlobReader
from vigie.store.blocks.chunk import Chunk
from vigie.store.blocks.database import BlockDatabase, is_corrupt
from vigie.store.blocks.layout_spans import LayoutSpan
from vigie.store.blocks.layout_store import CACHED_SERIES, LayoutStore
from vigie.store.compression import codec
from vigie.store.corruption import CorruptionLog
from vigie.store.errors import CorruptionError
from vigie.store.series.layout import Layout, Layouts
from vigie.store.series.schema import Schema
from vigie.store.wal.records import MAX_TIME, StreamName

_SCHEMA = """
CREATE TABLE IF NOT EXISTS stream (
    number INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT, source TEXT, framed INTEGER, flushed INTEGER,
    UNIQUE (target, source));
CREATE TABLE IF NOT EXISTS chunk (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    stream INTEGER, layout INTEGER, start INTEGER, stop INTEGER, count INTEGER,
    first_blob INTEGER, blobs INTEGER, small INTEGER, times BLOB, places BLOB);
CREATE INDEX IF NOT EXISTS chunk_by_time ON chunk (stream, start);
CREATE INDEX IF NOT EXISTS chunk_by_age ON chunk (stop);
CREATE INDEX IF NOT EXISTS chunk_small ON chunk (stream, start) WHERE small = 1;
CREATE TABLE IF NOT EXISTS blob (number INTEGER PRIMARY KEY, content BLOB);
"""
_CHUNK = "SELECT number, layout, start, stop, count, times, first_blob, blobs, places FROM chunk WHERE "
_SPAN = "SELECT stream, layout, min(start), max(stop) FROM chunk WHERE "
_LAYOUTS_BY_SCHEMA = """
SELECT min(layout.number) FROM chunk JOIN layout ON layout.number = chunk.layout
WHERE chunk.stream = ? AND chunk.start <= ? AND chunk.stop >= ? GROUP BY layout.schema"""
_OVERLAPPING = """
stream = ?1 AND start <= ?3 AND start >= coalesce((SELECT min(start) FROM (
    SELECT start FROM chunk WHERE stream = ?1 AND start < ?2 ORDER BY start DESC LIMIT 2)), ?2)
ORDER BY start"""
_EXTENTS = """
SELECT number, start, stop FROM chunk WHERE stream = ? AND start >= ? AND start < ? ORDER BY start"""
_REACHING = "stream = ? AND start >= ? AND start < ? AND stop > ? ORDER BY start"
_SEALED = {
    "times of chunk": "SELECT number, times FROM chunk",
    "layout": "SELECT number, series FROM layout",
    "schema": "SELECT number, content FROM schema",
}
_PROBES = (
    "SELECT sum(flushed) FROM stream NOT INDEXED",
    "SELECT sum(number) FROM stream ORDER BY target, source",
    "SELECT sum(stop), sum(blobs) FROM chunk NOT INDEXED",
    "SELECT sum(start) FROM chunk INDEXED BY chunk_by_time",
    "SELECT sum(stop) FROM chunk INDEXED BY chunk_by_age",
    "SELECT sum(start) FROM chunk INDEXED BY chunk_small WHERE small = 1",
    "SELECT sum(checksum) FROM layout INDEXED BY layout_by_checksum",
    "SELECT sum(checksum) FROM schema INDEXED BY schema_by_checksum",
    "SELECT max(number) FROM layout",  # the end of a table is where the next row goes
    "SELECT max(number) FROM schema",
    "SELECT max(number) FROM blob",
)
_LOCATIONS = "SELECT number, first_blob, blobs, places FROM chunk"
_ROWS = "SELECT number, content FROM blob WHERE number >= ? AND number < ?"
_LAST_CHUNK = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunk'), 0)"
_NEARBY = "SELECT number FROM chunk WHERE first_blob >= ? AND first_blob < ?"
MAX_NUMBER = 1 << 62
ROWS_PER_PAGE = 100  # at most; a damaged page affects all of them


class StoredStream(NamedTuple):
    number: int
    name: StreamName
    flushed: int


class Extent(NamedTuple):
    """Number and time span of a chunk, without its layout, which is the most expensive part to read."""

    number: int
    start: int
    end: int


class BlockStore:
    """Chunks by stream and time; the column groups of a chunk are in consecutive rows."""

    def __init__(
        self, path: Path, layouts: Layouts, corruption_log: CorruptionLog, cached_series: int = CACHED_SERIES
    ) -> None:
        self.corruption_log = corruption_log
        self.database = BlockDatabase(path, _SCHEMA + layout_store.SCHEMA)
        self.layouts = LayoutStore(self.database, layouts, cached_series)
        self._read = self.database.read
        # Chunks committed while their rows still count as in memory.
        self.unpublished: set[int] = set()
        self.repaired = False  # some chunks may be lost
        self._undeletable: set[int] = set()  # chunks whose values SQLite cannot delete
        self._last_number: int = self._read(_LAST_CHUNK)[0][0]
        self._max_number = MAX_NUMBER  # larger numbers were written after this process was forked

    @property
    def _db(self) -> sqlite3.Connection:
        return self.database.writer

    def probe(self) -> None:
        """Read what opening, lookups and writes need, except values; raise CorruptionError if that fails."""
        for query in _PROBES:
            self._read(query)

    def close(self) -> None:
        self.database.close()

    def after_fork(self) -> None:
        """Continue in a forked child, with a read snapshot as of the fork."""
        self.database.after_fork()
        self._read = self.database.read
        self._max_number = self._last_number

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            with self.database.transaction():
                yield
        except BaseException:
            self.layouts.forget()  # layouts written by this transaction do not exist
            raise

    def streams(self) -> list[StoredStream]:
        """Return the streams that have or had chunks."""
        rows = self._read("SELECT number, target, source, framed, flushed FROM stream")
        return [
            StoredStream(number, StreamName(_target(target), source, bool(framed)), flushed)
            for number, target, source, framed, flushed in rows
        ]

    def spans(
        self, stream: int | None = None, start: int = -MAX_NUMBER, end: int = MAX_NUMBER
    ) -> Iterator[LayoutSpan]:
        """Yield the layouts of one stream, or of all, with chunks in a time range."""
        if stream is None:
            rows = self._read(_SPAN + "start <= ? AND stop >= ? GROUP BY stream, layout", end, start)
        else:
            where = "stream = ? AND start <= ? AND stop >= ? GROUP BY layout"
            rows = self._read(_SPAN + where, stream, end, start)
        return starmap(LayoutSpan, rows)

    def layouts_by_schema(self, stream: int, start: int, end: int) -> list[int]:
        """Return one layout per schema that a stream has in a time range."""
        return [number for (number,) in self._read(_LAYOUTS_BY_SCHEMA, stream, end, start)]

    def schemas(self, spans: Iterable[LayoutSpan]) -> Iterator[tuple[LayoutSpan, Schema | None]]:
        """Yield spans, each with the schema of its layout; None if it is damaged, which is reported."""
        for span in spans:
            try:
                yield span, self.layouts.schema(span.layout)
            except CorruptionError as error:  # affects the series it describes, not the whole store
                self.corruption_log.add(str(error))
                yield span, None

    def upsert_stream(self, name: StreamName, flushed: int) -> int:
        """Record up to which log position a stream is in blocks; return the stream's number."""
        rows = self._db.execute(
            "INSERT INTO stream (target, source, framed, flushed) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (target, source) DO UPDATE SET flushed = excluded.flushed RETURNING number",
            (json.dumps(name.target), name.source, name.framed, flushed),
        )
        number: int = rows.fetchall()[0][0]
        return number

    def write(self, stream: int, chunk: Chunk, *, small: bool) -> int:
        """Write a chunk and delete those it replaces; return its number."""
        for number in chunk.replaces:
            self.delete_chunk(number)
        (first,) = self._db.execute("SELECT coalesce(max(number), 0) + 1 FROM blob").fetchone()
        rows, locations = pack_blobs([chunk.blob(group) for group in range(len(chunk.layout.column_groups))])
        self._db.executemany("INSERT INTO blob VALUES (?, ?)", enumerate(rows, first))
        layout, times = self.layouts.number(chunk.layout), chunk.packed_times
        self._last_number += 1  # even if rolled back: a head may already refer to this number
        fields = (
            stream,
            layout,
            chunk.start,
            chunk.end,
            chunk.rows,
            first,
            len(rows),
            small,
            times,
            locations,
        )
        self._db.execute(
            "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (self._last_number, *fields)
        )
        return self._last_number

    def mark_merged(self, chunks: Iterable[Chunk]) -> None:
        """Mark chunks that have no neighbors to merge with as merged."""
        self._db.executemany(
            "UPDATE chunk SET small = 0 WHERE number = ?", [(chunk.number,) for chunk in chunks]
        )

    def delete_chunk(self, number: int) -> None:
        query = "SELECT first_blob, blobs FROM chunk WHERE number = ?"
        for first, count in self._db.execute(query, (number,)).fetchall():
            if number not in self._undeletable:
                self._delete_values(number, first, first + count)
        self._db.execute("DELETE FROM chunk WHERE number = ?", (number,))

    def _delete_values(self, chunk: int, first: int, stop: int) -> None:
        """Delete the values of a chunk; if pages are damaged, the next attempt leaves them in place."""
        try:
            self._db.execute("DELETE FROM blob WHERE number >= ? AND number < ?", (first, stop))
        except sqlite3.Error as error:
            if is_corrupt(error):
                nearby = self._read(_NEARBY, first - ROWS_PER_PAGE, stop + ROWS_PER_PAGE)
                self._undeletable.update(number for (number,) in nearby)
                self.corruption_log.add(f"the values of chunk {chunk} cannot be removed from disk: {error}")
            raise

    def delete_stream(self, stream: int) -> None:
        for (number,) in self._db.execute("SELECT number FROM chunk WHERE stream = ?", (stream,)).fetchall():
            self.delete_chunk(number)
        self._db.execute("DELETE FROM stream WHERE number = ?", (stream,))

    def chunk_at(self, stream: int, time: int) -> Chunk | None:
        where = "stream = ? AND start <= ? ORDER BY start DESC LIMIT 1"
        found = self._read_chunks(where, stream, time)
        if not found:  # nothing may be inserted where an unreadable chunk is
            for _, layout, _, stop, *_ in self._read(_CHUNK + where, stream, time):
                if stop >= time:
                    self.layouts.layout(layout)
        return found[0] if found and found[0].end >= time else None

    def has_chunk_between(self, stream: int, after: int, before: int) -> bool:
        query = "SELECT 1 FROM chunk WHERE stream = ? AND start > ? AND start < ? LIMIT 1"
        return bool(self._read(query, stream, after, before))

    def overlapping(self, stream: int, start: int, end: int, separate_after: int = MAX_TIME) -> list[Chunk]:
        """Return the chunks that overlap a time range, and the one before them.

        Chunks that end after `separate_after` share no blobs with the others, so they can be cached alone.
        """
        return self._read_chunks(_OVERLAPPING, stream, start, end, separate_after=separate_after)

    def overlapping_since(self, stream: int, since: int, start: int, stop: int) -> list[Chunk]:
        """Return the chunks that start at or after a time and overlap a time range."""
        return self._read_chunks(_REACHING, stream, since, stop, start)

    def extents(self, stream: int, since: int, stop: int) -> list[Extent]:
        """Return the time spans of the chunks that start between two times."""
        return list(starmap(Extent, self._read(_EXTENTS, stream, since, stop)))

    def oldest(self, count: int) -> list[tuple[int, int, int]]:
        """Return number, stream and last time of the oldest chunks."""
        return self._read("SELECT number, stream, stop FROM chunk ORDER BY stop LIMIT ?", count)

    def small_chunks(self, stream: int, until: int) -> list[Chunk]:
        """Return the unmerged chunks of a stream that end by a time, in order."""
        return self._read_chunks("stream = ? AND small = 1 AND stop <= ? ORDER BY start", stream, until)

    def first_small(self, stream: int) -> int | None:
        """Return the first time of a stream's unmerged chunks."""
        first: int | None
        ((first,),) = self._read("SELECT min(start) FROM chunk WHERE stream = ? AND small = 1", stream)
        return first

    def small_starts(self) -> Iterator[tuple[int, int]]:
        """Yield every stream with the first time of its unmerged chunks."""
        yield from self._read("SELECT stream, min(start) FROM chunk WHERE small = 1 GROUP BY stream")

    def count_rows(self, stream: int, start: int, end: int) -> list[tuple[int, Layout]]:
        """Return the number of rows per layout of the chunks in a time range."""
        rows = self._read(
            "SELECT sum(count), layout FROM chunk WHERE stream = ? AND start <= ? AND stop >= ? "
            "GROUP BY layout ORDER BY max(start)",
            stream,
            end,
            start,
        )
        found = [
            (count, layout) for count, number in rows if (layout := self._read_layout(number)) is not None
        ]
        if found:
            self.layouts.pin(found[-1][1])
        return found

    def size(self) -> int:
        """Return the bytes in use."""
        # Read from the writing connection, so that its deletions count.
        pages, free, page = (
            self._db.execute(f"PRAGMA {what}").fetchone()[0]
            for what in ("page_count", "freelist_count", "page_size")
        )
        used: int = (pages - free) * page
        return used

    def delete_unused_layouts(self) -> None:
        with self.transaction():
            self.layouts.delete_unused()
        self.layouts.forget()

    def shrink(self, pages: int) -> None:
        """Return free pages to the file system."""
        with self.transaction():
            self._db.execute(f"PRAGMA incremental_vacuum({int(pages)})").fetchall()

    def checkpoint(self) -> None:
        """Move SQLite's own log into the file."""
        with self.database.write_lock:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def verify(self) -> Iterator[str]:
        """Yield what is damaged, after reading every blob."""
        try:
            yield from verify(self._db)
        except sqlite3.Error as error:
            yield f"cannot read the blocks: {error}"

    def _read_chunks(self, where: str, *values: int, separate_after: int = MAX_TIME) -> list[Chunk]:
        rows = self._read(_CHUNK + where, *values)
        locations = [(row[6], BlobIndex(row[8], row[7])) for row in rows]
        older = sum(row[3] <= separate_after for row in rows)
        readers = BlobReader(self._read, locations[:older]), BlobReader(self._read, locations[older:])
        blobs = [partial(reader.blob, i) for reader in readers for i in range(len(reader))]
        return [
            Chunk(layout, start, stop, count, times, blob, number=number)
            for blob, (number, of, start, stop, count, times, *_) in zip(blobs, rows, strict=True)
            if number <= self._max_number and number not in self.unpublished
            if (layout := self._read_layout(of)) is not None
        ]

    def _read_layout(self, number: int) -> Layout | None:
        """Return a layout, or None if it is damaged, which affects its chunks only."""
        try:
            return self.layouts.layout(number)
        except CorruptionError as error:
            self.corruption_log.add(str(error))
            return None


def verify(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what is damaged in a block file, after reading every blob."""
    yield from (text for (text,) in connection.execute("PRAGMA quick_check") if text != "ok")
    for kind, query in _SEALED.items():
        for number, content in connection.execute(query):
            yield from (f"{kind} {number}: {fault}" for fault in codec.find_faults(content))
    for chunk, first, count, locations in connection.execute(_LOCATIONS):
        rows = {number - first: row for number, row in connection.execute(_ROWS, (first, first + count))}
        for fault in dict.fromkeys(BlobIndex(locations, count).find_faults(rows)):
            yield f"values of chunk {chunk}: {fault}"


def _target(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in json.loads(text))
