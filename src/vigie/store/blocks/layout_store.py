"""The layouts of chunks on disk, by number: read on demand, with bounded caches."""

from __future__ import annotations

import json
from weakref import WeakKeyDictionary, WeakValueDictionary

import msgspec

from vigie.store.blocks.database import BlockDatabase
from vigie.store.compression import codec
from vigie.store.errors import CorruptionError, MissingDataError
from vigie.store.series.layout import Key, Layout, Layouts
from vigie.store.series.schema import Schema, from_lists, to_lists

# AUTOINCREMENT: a lookup may refer to a number whose layout was deleted.
SCHEMA = """
CREATE TABLE IF NOT EXISTS schema (number INTEGER PRIMARY KEY AUTOINCREMENT, checksum INTEGER, content BLOB);
CREATE INDEX IF NOT EXISTS schema_by_checksum ON schema (checksum);
CREATE TABLE IF NOT EXISTS layout (
    number INTEGER PRIMARY KEY AUTOINCREMENT, schema INTEGER, checksum INTEGER, series BLOB);
CREATE INDEX IF NOT EXISTS layout_by_checksum ON layout (checksum);
"""
CACHED_SERIES = 50_000  # of layouts read from disk and referenced nowhere else
PINNED_SERIES = 1_000_000  # of layouts that queries used; a series takes 150 to 200 bytes
_LAYOUT = "SELECT number, series FROM layout WHERE checksum = ?"
_decoder = msgspec.json.Decoder(type=tuple[Key, ...])
CACHED_SCHEMAS = 100_000  # layouts whose schema is cached


class LayoutStore:
    """Layouts in use elsewhere are found through weak references."""

    def __init__(self, database: BlockDatabase, layouts: Layouts, cached_series: int) -> None:
        self._database, self._layouts, self._max_cached_series = database, layouts, cached_series
        self.forget()

    def forget(self) -> None:
        self._by_number: WeakValueDictionary[int, Layout] = WeakValueDictionary()
        self._numbers: WeakKeyDictionary[Layout, int] = WeakKeyDictionary()
        self._cached: list[Layout] = []
        self._cached_series = 0
        self._pinned: dict[Layout, None] = {}
        self._pinned_series = 0
        self._schema_numbers: dict[Schema, int] = {}
        self._schemas: dict[int, Schema] = {}
        self._schema_of: dict[int, Schema] = {}  # by layout number

    def layout(self, number: int) -> Layout:
        layout = self._by_number.get(number)
        if layout is None:
            rows = self._database.read("SELECT series FROM layout WHERE number = ?", number)
            if not rows:
                raise MissingDataError(f"layout {number} is missing")
            try:
                layout = self._layouts.of(_decode(rows[0][0]))
            except CorruptionError as error:
                raise CorruptionError(f"layout {number}: {error}") from None
            self._cache(layout)
            self._register(number, layout)
        return layout

    def pin(self, layout: Layout) -> None:
        """Keep a layout that a query used: the next query of this or another node likely uses it too."""
        if layout not in self._pinned:
            if self._pinned_series > PINNED_SERIES:
                self._pinned, self._pinned_series = {}, 0
            self._pinned[layout] = None
            self._pinned_series += len(layout)

    def schema(self, number: int) -> Schema:
        """Return the schema of a layout, usually without reading the layout."""
        schema = self._schema_of.get(number)
        if schema is None:
            if len(self._schema_of) >= CACHED_SCHEMAS:
                self._schema_of = {}
            schema = self._schema_of[number] = self._read_schema(number)
        return schema

    def number(self, layout: Layout) -> int:
        """Return the number of a layout, writing the layout if it is new; within a transaction."""
        number = self._numbers.get(layout)
        if number is None:
            content = _encode(layout)
            number = self._find(_LAYOUT, content)
            if number is None:
                schema = self._schema_number(layout.schema)
                number = self._insert(
                    "INSERT INTO layout (schema, checksum, series) VALUES (?, ?, ?)", schema, content
                )
            self._register(number, layout)
        return number

    def load_number(self, layout: Layout) -> None:
        """Look up the number of a layout in use, so that no query has to read the layout from disk."""
        if layout not in self._numbers:
            number = self._find(_LAYOUT, _encode(layout))
            if number is not None:
                self._register(number, layout)

    def delete_unused(self) -> None:
        """Delete layouts and schemas that no chunk uses; within a transaction."""
        writer = self._database.writer
        writer.execute("DELETE FROM layout WHERE number NOT IN (SELECT layout FROM chunk)")
        writer.execute("DELETE FROM schema WHERE number NOT IN (SELECT schema FROM layout)")

    def _cache(self, layout: Layout) -> None:
        if self._cached_series > self._max_cached_series:
            self._cached, self._cached_series = [], 0
        self._cached.append(layout)
        self._cached_series += len(layout)

    def _register(self, number: int, layout: Layout) -> None:
        self._by_number[number] = layout
        self._numbers[layout] = number

    def _read_schema(self, layout: int) -> Schema:
        rows = self._database.read("SELECT schema FROM layout WHERE number = ?", layout)
        number = rows[0][0] if rows else 0
        if number not in self._schemas:
            rows = self._database.read("SELECT content FROM schema WHERE number = ?", number)
            try:
                self._schemas[number] = from_lists(json.loads(codec.unpack_text(rows[0][0])))
            except (CorruptionError, IndexError):  # the layout has the same information
                return self.layout(layout).schema
        return self._schemas[number]

    def _schema_number(self, schema: Schema) -> int:
        number = self._schema_numbers.get(schema)
        if number is None:
            content = codec.pack_text(json.dumps(to_lists(schema)))
            number = self._find("SELECT number, content FROM schema WHERE checksum = ?", content)
            if number is None:
                query = "INSERT INTO schema (number, checksum, content) VALUES (?, ?, ?)"
                number = self._insert(query, None, content)
            self._schema_numbers[schema] = number
        return number

    def _find(self, query: str, content: bytes) -> int | None:
        rows = self._database.writer.execute(query, (_checksum(content),)).fetchall()
        return next((number for number, stored in rows if stored == content), None)

    def _insert(self, query: str, first: int | None, content: bytes) -> int:
        cursor = self._database.writer.execute(query, (first, _checksum(content), content))
        assert cursor.lastrowid is not None
        return cursor.lastrowid


def _encode(layout: Layout) -> bytes:
    return codec.pack_text(json.dumps(layout.series))


def _checksum(content: bytes) -> int:
    return int.from_bytes(content[2:6], "little")


def _decode(content: bytes) -> tuple[Key, ...]:
    keys = _decoder.decode(codec.unpack_text(content))
    # Share equal pairs: most of them occur in many series.
    pairs: dict[tuple[str, str], tuple[str, str]] = {}
    share = pairs.setdefault
    return tuple([tuple(map(share, key, key)) for key in keys])
