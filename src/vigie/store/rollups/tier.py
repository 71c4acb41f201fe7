"""Rollups of one width in a file of their own; a page is a fixed time range in one or more chunks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeVar

from vigie.store.blocks.block_store import Extent
from vigie.store.blocks.chunk import Chunk
from vigie.store.blocks.repair import open_or_repair
from vigie.store.compression.codec import Times
from vigie.store.corruption import CorruptionLog
from vigie.store.heads.index import Index
from vigie.store.heads.stream import BEFORE_ALL, HeadLimits, Stream
from vigie.store.retention import Retention, expire
from vigie.store.series.layout import Layouts
from vigie.store.wal.records import StreamName

FREED_PAGES = 20_000  # returned to the file system at once
_SCHEMA = "CREATE TABLE IF NOT EXISTS made (stream INTEGER PRIMARY KEY, position INTEGER)"
_NOTE_MADE = "INSERT INTO made VALUES (?, ?) ON CONFLICT (stream) DO UPDATE SET position = excluded.position"
_MADE = "SELECT stream, position FROM made"

Guard = AbstractContextManager[object]
_Part = TypeVar("_Part", Chunk, Extent)


class TierConfig(NamedTuple):
    """Bucket width, buckets per page, buckets after which a page is rewritten, and retention."""

    name: str
    width: int
    page_buckets: int
    every: int
    retention: Retention

    @property
    def page(self) -> int:
        """Return the length of a page in milliseconds."""
        return self.width * self.page_buckets


class TierClaim(NamedTuple):
    """A page of a stream being built, and its end."""

    name: StreamName
    page: int
    stop: int


class BuiltPages(NamedTuple):
    """The chunks of a page, empty if there are no samples, and the stored chunks that stay.

    With a position, every page of the stream has all rows that the log holds before it.
    """

    claim: TierClaim
    chunks: Sequence[Chunk]
    kept: Collection[int] = ()
    position: int | None = None


Notes = dict[StreamName, set[int]]  # pages by stream


class Tier:
    """A stored page is complete up to its end; where there is none, finer data are read.

    A page is invalidated when late samples fall into it, before they leave the log, and rebuilt later.
    """

    def __init__(self, directory: Path, kind: TierConfig, layouts: Layouts, damages: CorruptionLog) -> None:
        self.kind = kind
        self.index = Index()
        self._damages = damages
        self.until: dict[StreamName, int] = {}  # every page before is built, except missing ones
        self.missing: Notes = {}
        self._unsaid: Notes = {}  # missing, and still on disk
        self._making: Notes = {}  # claimed, and not on disk yet
        self._doomed: list[StreamName] = []  # removed from the index, still on disk
        self._numbers: dict[StreamName, int] = {}
        self.made: dict[StreamName, int] = {}  # by stream, the log position at the last build, as of opening
        self._layouts = layouts
        self.path = directory / f"rollups-{kind.name}.sqlite"
        self.blocks = open_or_repair(self.path, layouts, damages)
        try:
            self._load()
        except BaseException:
            self.blocks.close()
            raise

    def note(self, name: StreamName, time: int) -> None:
        """Invalidate the page of a late sample."""
        if time <= self.reach(name):
            self.spoil(name, self.page_at(time))

    def reach(self, name: StreamName) -> int:
        """Return the time up to which a row is late for pages that exist or are claimed."""
        stream = self.index.get(name.target, name.source)
        until = self.until.get(name, BEFORE_ALL)
        return until if stream is None else max(until, stream.last_stored)

    def late(self, name: StreamName, times: Times, positions: Times) -> Times:
        """Return the times of replayed rows that were late for the pages on disk."""
        return times[(times <= self.reach(name)) & (positions >= self.made.get(name, BEFORE_ALL))]

    def is_right(self, name: StreamName) -> bool:
        """Report whether no stored page of a stream has to be rebuilt."""
        return name not in self._unsaid

    def spoil(self, name: StreamName, page: int) -> None:
        """Mark a page for rebuilding."""
        if page not in self.missing.setdefault(name, set()):
            self.missing[name].add(page)
            self._unsaid.setdefault(name, set()).add(page)

    def notes(self) -> Notes:
        """Return the invalid pages that are still on disk."""
        return {name: set(pages) for name, pages in self._unsaid.items()}

    def keep_notes(self, notes: Notes, guard: Guard) -> None:
        """Delete invalid pages from disk."""
        if not notes:
            return
        with self.blocks.transaction():
            self.blocks.database.births.wait()
            for name, pages in notes.items():
                number = self.blocks.keep_stream(name, min(*pages, self.until.get(name, min(pages))))
                for page in pages:
                    self._remove_page(number, page)
        with guard:
            for name, pages in notes.items():
                self._said(name, pages)

    def page_at(self, time: int) -> int:
        """Return the start of the page of a sample."""
        return (time - 1) // self.kind.page * self.kind.page

    def chunks(self, name: StreamName, start: int, stop: int) -> list[Chunk]:
        """Return the chunks of pages in a time range, in order."""
        if name not in self._numbers:
            return []
        since = self.page_at(start + 1)
        return self._right(name, self.blocks.reaching(self._numbers[name], since, start, stop))

    def extents(self, name: StreamName, page: int) -> list[Extent]:
        """Return the time spans of the chunks of a page, in order."""
        if name not in self._numbers:
            return []
        return self._right(name, self._extents(self._numbers[name], page))

    def claim(self, claim: TierClaim) -> None:
        """Claim a page that is built from current data; rows that arrive from now on are late."""
        name, page, stop = claim
        self.until[name] = max(self.until.get(name, stop), stop)
        self._making.setdefault(name, set()).add(page)
        self.missing.get(name, set()).discard(page)
        if not self.missing.get(name, True):
            del self.missing[name]
        self._said(name, {page})  # until it is written no row leaves the log, and then it is valid

    def write(self, batch: Sequence[BuiltPages]) -> dict[StreamName, int]:
        """Write claimed pages in place of the stored ones; return the numbers of their streams."""
        numbers: dict[StreamName, int] = {}
        with self.blocks.transaction():
            self.blocks.database.births.wait()
            for (name, page, _), chunks, kept, position in batch:
                until = self.until.get(name)
                if until is None:
                    continue  # deleted in the meantime
                number = numbers[name] = self.blocks.keep_stream(
                    name, min([until, *self.missing.get(name, ())])
                )
                self._remove_page(number, page, kept)
                for chunk in chunks:
                    self.blocks.write(number, chunk, small=False)
                if position is not None:
                    self.blocks.database.writer.execute(_NOTE_MADE, (number, position))
        return numbers

    def settle(
        self, claims: Iterable[TierClaim], batch: Sequence[BuiltPages], numbers: Mapping[StreamName, int]
    ) -> None:
        """Make written pages readable, and mark the other claimed ones for rebuilding."""
        made = {(name, page): chunks for (name, page, _), chunks, *_ in batch}
        for name, page, _ in claims:
            if page in self._making.get(name, ()):
                self._making[name].discard(page)
                if name not in numbers:
                    self.spoil(name, page)
                    continue
                self._numbers[name] = numbers[name]
                chunks = made.get((name, page), ())
                if chunks:
                    stream = self._known(name)
                    stream.respan(self.blocks.spans(stream.number))
                    for chunk in chunks:
                        self.index.note(stream, chunk.layout.outline)
        self._making = {name: pages for name, pages in self._making.items() if pages}

    def names(self) -> set[StreamName]:
        """Return all known streams."""
        return {*self.until, *self._numbers}

    def forget(self, names: Iterable[StreamName]) -> None:
        """Remove streams; `delete_pending` deletes their pages."""
        for name in names:
            stream = self.index.get(name.target, name.source)
            if stream is not None:
                self.index.remove(stream)
            self._doomed.append(name)
            for about in (self.until, self.missing, self._unsaid, self._making, self._numbers, self.made):
                about.pop(name, None)

    def remove_doomed(self) -> None:
        """Delete the pages of removed streams."""
        if self._doomed:
            doomed = list(self._doomed)
            with self.blocks.transaction():
                self.blocks.database.births.wait()
                for name in doomed:
                    number = self.blocks.keep_stream(name, 0)
                    self.blocks.remove_stream(number)
                    self.blocks.database.writer.execute("DELETE FROM made WHERE stream = ?", (number,))
            del self._doomed[: len(doomed)]

    def expire(self, now: int, guard: Guard) -> None:
        """Delete expired pages."""
        lost = expire(self.blocks, self.kind.retention, now)
        if not lost:
            return
        left = {number: list(self.blocks.spans(number)) for number in lost}
        with guard:
            for stream in list(self.index):
                spans = left.get(self._numbers.get(stream.name, 0))
                if spans:
                    stream.respan(spans)
                    outlines = [outline for _, outline in self.blocks.outlines(spans) if outline is not None]
                    self.index.renew(stream, outlines)
                elif spans is not None:
                    self.forget([stream.name])
        self.remove_doomed()
        self.blocks.forget_layouts()
        self.blocks.shrink(FREED_PAGES)

    def _said(self, name: StreamName, pages: set[int]) -> None:
        left = self._unsaid.pop(name, set()) - pages
        if left:
            self._unsaid[name] = left

    def _remove_page(self, number: int, page: int, kept: Collection[int] = ()) -> None:
        for chunk in self._extents(number, page):
            if chunk.number not in kept:
                self.blocks.remove_chunk(chunk.number)

    def _known(self, name: StreamName) -> Stream:
        stream = self.index.get(name.target, name.source)
        if stream is None:
            stream = Stream(name, self._layouts, HeadLimits(), self._damages)
            self.index.add(stream)
        stream.number = self._numbers[name]
        return stream

    def _extents(self, number: int, page: int) -> list[Extent]:
        return self.blocks.extents(number, page, page + self.kind.page)

    def _right(self, name: StreamName, parts: Iterable[_Part]) -> list[_Part]:
        wrong = self.missing.get(name, set()) | self._making.get(name, set())
        return [part for part in parts if self.page_at(part.start + 1) not in wrong]

    def _load(self) -> None:
        with self.blocks.transaction():
            self.blocks.database.writer.execute(_SCHEMA)
        names = {}
        for number, name, until in self.blocks.streams():
            names[number] = name
            self.until[name], self._numbers[name] = until, number
        made = dict(self.blocks.database.read(_MADE))
        self.made = {name: made[number] for number, name in names.items() if number in made}
        for span, outline in self.blocks.outlines(self.blocks.spans()):
            stream = self._known(names[span.stream])
            stream.spans.add(span.layout, span.start, span.end)
            if outline is not None:
                self.index.note(stream, outline)
