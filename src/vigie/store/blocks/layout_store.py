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
CREATE TABLE IF NOT EXISTS outline (number INTEGER PRIMARY KEY AUTOINCREMENT, checksum INTEGER, content BLOB);
CREATE INDEX IF NOT EXISTS outline_by_checksum ON outline (checksum);
CREATE TABLE IF NOT EXISTS layout (
    number INTEGER PRIMARY KEY AUTOINCREMENT, outline INTEGER, checksum INTEGER, series BLOB);
CREATE INDEX IF NOT EXISTS layout_by_checksum ON layout (checksum);
"""
KEPT_SERIES = 50_000  # of layouts read from disk and referenced nowhere else
HELD_SERIES = 1_000_000  # of layouts that queries used; a series takes 150 to 200 bytes
_LAYOUT = "SELECT number, series FROM layout WHERE checksum = ?"
_decoder = msgspec.json.Decoder(type=tuple[Key, ...])
KEPT_OUTLINES = 100_000  # layouts whose schema is cached


class LayoutStore:
    """Layouts in use elsewhere are found through weak references."""

    def __init__(self, database: BlockDatabase, layouts: Layouts, kept_series: int) -> None:
        self._database, self._layouts, self._most_kept = database, layouts, kept_series
        self.forget()

    def forget(self) -> None:
        """Drop all caches."""
        self._by_number: WeakValueDictionary[int, Layout] = WeakValueDictionary()
        self._numbers: WeakKeyDictionary[Layout, int] = WeakKeyDictionary()
        self._kept: list[Layout] = []
        self._kept_series = 0
        self._held: dict[Layout, None] = {}
        self._held_series = 0
        self._outline_numbers: dict[Schema, int] = {}
        self._outlines: dict[int, Schema] = {}
        self._outline_of: dict[int, Schema] = {}  # by layout number

    def layout(self, number: int) -> Layout:
        layout = self._by_number.get(number)
        if layout is None:
            rows = self._database.read("SELECT series FROM layout WHERE number = ?", number)
            if not rows:
                raise MissingDataError(f"layout {number} is missing")
            try:
                layout = self._layouts.of(_series(rows[0][0]))
            except CorruptionError as error:
                raise CorruptionError(f"layout {number}: {error}") from None
            self._keep(layout)
            self._remember(number, layout)
        return layout

    def hold(self, layout: Layout) -> None:
        """Keep a layout that a query used: the next query of this or another node likely uses it too."""
        if layout not in self._held:
            if self._held_series > HELD_SERIES:
                self._held, self._held_series = {}, 0
            self._held[layout] = None
            self._held_series += len(layout)

    def outline(self, number: int) -> Schema:
        """Return the schema of a layout, usually without reading the layout."""
        outline = self._outline_of.get(number)
        if outline is None:
            if len(self._outline_of) >= KEPT_OUTLINES:
                self._outline_of = {}
            outline = self._outline_of[number] = self._read_outline(number)
        return outline

    def number(self, layout: Layout) -> int:
        """Return the number of a layout, writing the layout if it is new; within a transaction."""
        number = self._numbers.get(layout)
        if number is None:
            content = _packed(layout)
            number = self._found(_LAYOUT, content)
            if number is None:
                outline = self._outline_number(layout.outline)
                number = self._inserted(
                    "INSERT INTO layout (outline, checksum, series) VALUES (?, ?, ?)", outline, content
                )
            self._remember(number, layout)
        return number

    def recognise(self, layout: Layout) -> None:
        """Look up the number of a layout in use, so that no query has to read the layout from disk."""
        if layout not in self._numbers:
            number = self._found(_LAYOUT, _packed(layout))
            if number is not None:
                self._remember(number, layout)

    def sweep(self) -> None:
        """Delete layouts and schemas that no chunk uses; within a transaction."""
        writer = self._database.writer
        writer.execute("DELETE FROM layout WHERE number NOT IN (SELECT layout FROM chunk)")
        writer.execute("DELETE FROM outline WHERE number NOT IN (SELECT outline FROM layout)")

    def _keep(self, layout: Layout) -> None:
        if self._kept_series > self._most_kept:
            self._kept, self._kept_series = [], 0
        self._kept.append(layout)
        self._kept_series += len(layout)

    def _remember(self, number: int, layout: Layout) -> None:
        self._by_number[number] = layout
        self._numbers[layout] = number

    def _read_outline(self, layout: int) -> Schema:
        rows = self._database.read("SELECT outline FROM layout WHERE number = ?", layout)
        number = rows[0][0] if rows else 0
        if number not in self._outlines:
            rows = self._database.read("SELECT content FROM outline WHERE number = ?", number)
            try:
                self._outlines[number] = from_lists(json.loads(codec.unpack_text(rows[0][0])))
            except (CorruptionError, IndexError):  # the layout has the same information
                return self.layout(layout).outline
        return self._outlines[number]

    def _outline_number(self, outline: Schema) -> int:
        number = self._outline_numbers.get(outline)
        if number is None:
            content = codec.pack_text(json.dumps(to_lists(outline)))
            number = self._found("SELECT number, content FROM outline WHERE checksum = ?", content)
            if number is None:
                query = "INSERT INTO outline (number, checksum, content) VALUES (?, ?, ?)"
                number = self._inserted(query, None, content)
            self._outline_numbers[outline] = number
        return number

    def _found(self, query: str, content: bytes) -> int | None:
        rows = self._database.writer.execute(query, (_checksum(content),)).fetchall()
        return next((number for number, stored in rows if stored == content), None)

    def _inserted(self, query: str, first: int | None, content: bytes) -> int:
        cursor = self._database.writer.execute(query, (first, _checksum(content), content))
        assert cursor.lastrowid is not None
        return cursor.lastrowid


def _packed(layout: Layout) -> bytes:
    return codec.pack_text(json.dumps(layout.series))


def _checksum(content: bytes) -> int:
    return int.from_bytes(content[2:6], "little")


def _series(content: bytes) -> tuple[Key, ...]:
    keys = _decoder.decode(codec.unpack_text(content))
    # Share equal pairs: most of them occur in many series.
    pairs: dict[tuple[str, str], tuple[str, str]] = {}
    same = pairs.setdefault
    return tuple([tuple(map(same, key, key)) for key in keys])
