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
_SCHEMA = "CREATE TABLE IF NOT EXISTS built (stream INTEGER PRIMARY KEY, position INTEGER)"
_SAVE_POSITION = (
    "INSERT INTO built VALUES (?, ?) ON CONFLICT (stream) DO UPDATE SET position = excluded.position"
)
_POSITIONS = "SELECT stream, position FROM built"

Lock = AbstractContextManager[object]
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


InvalidPages = dict[StreamName, set[int]]  # pages by stream


class Tier:
    """A stored page is complete up to its end; where there is none, finer data are read.

    A page is invalidated when late samples fall into it, before they leave the log, and rebuilt later.
    """

    def __init__(
        self, directory: Path, config: TierConfig, layouts: Layouts, corruption_log: CorruptionLog
    ) -> None:
        self.config = config
        self.index = Index()
        self._corruption_log = corruption_log
        self.built_until: dict[StreamName, int] = {}  # every page before is built, except missing ones
        self.missing: InvalidPages = {}
        self._unsaved: InvalidPages = {}  # missing, and still on disk
        self._building: InvalidPages = {}  # claimed, and not on disk yet
        self._pending_delete: list[StreamName] = []  # removed from the index, still on disk
        self._numbers: dict[StreamName, int] = {}
        self.built_positions: dict[
            StreamName, int
        ] = {}  # by stream, the log position at the last build, as of opening
        self._layouts = layouts
        self.path = directory / f"rollups-{config.name}.sqlite"
        self.blocks = open_or_repair(self.path, layouts, corruption_log)
        try:
            self._load()
        except BaseException:
            self.blocks.close()
            raise

    def invalidate_late(self, name: StreamName, time: int) -> None:
        """Invalidate the page of a late sample."""
        if time <= self.late_until(name):
            self.invalidate_page(name, self.page_at(time))

    def late_until(self, name: StreamName) -> int:
        """Return the time up to which a row is late for pages that exist or are claimed."""
        stream = self.index.get(name.target, name.source)
        until = self.built_until.get(name, BEFORE_ALL)
        return until if stream is None else max(until, stream.last_stored)

    def late_times(self, name: StreamName, times: Times, positions: Times) -> Times:
        """Return the times of replayed rows that were late for the pages on disk."""
        return times[
            (times <= self.late_until(name)) & (positions >= self.built_positions.get(name, BEFORE_ALL))
        ]

    def is_valid(self, name: StreamName) -> bool:
        """Report whether no stored page of a stream has to be rebuilt."""
        return name not in self._unsaved

    def invalidate_page(self, name: StreamName, page: int) -> None:
        """Mark a page for rebuilding."""
        if page not in self.missing.setdefault(name, set()):
            self.missing[name].add(page)
            self._unsaved.setdefault(name, set()).add(page)

    def invalid_pages(self) -> InvalidPages:
        """Return the invalid pages that are still on disk."""
        return {name: set(pages) for name, pages in self._unsaved.items()}

    def save_invalid_pages(self, invalid_pages: InvalidPages, lock: Lock) -> None:
        """Delete invalid pages from disk."""
        if not invalid_pages:
            return
        with self.blocks.transaction():
            self.blocks.database.fork_barrier.wait()
            for name, pages in invalid_pages.items():
                number = self.blocks.upsert_stream(name, min(*pages, self.built_until.get(name, min(pages))))
                for page in pages:
                    self._delete_page(number, page)
        with lock:
            for name, pages in invalid_pages.items():
                self._mark_saved(name, pages)

    def page_at(self, time: int) -> int:
        """Return the start of the page of a sample."""
        return (time - 1) // self.config.page * self.config.page

    def chunks(self, name: StreamName, start: int, stop: int) -> list[Chunk]:
        """Return the chunks of pages in a time range, in order."""
        if name not in self._numbers:
            return []
        since = self.page_at(start + 1)
        return self._drop_invalid(
            name, self.blocks.overlapping_since(self._numbers[name], since, start, stop)
        )

    def extents(self, name: StreamName, page: int) -> list[Extent]:
        """Return the time spans of the chunks of a page, in order."""
        if name not in self._numbers:
            return []
        return self._drop_invalid(name, self._extents(self._numbers[name], page))

    def claim(self, claim: TierClaim) -> None:
        """Claim a page that is built from current data; rows that arrive from now on are late."""
        name, page, stop = claim
        self.built_until[name] = max(self.built_until.get(name, stop), stop)
        self._building.setdefault(name, set()).add(page)
        self.missing.get(name, set()).discard(page)
        if not self.missing.get(name, True):
            del self.missing[name]
        self._mark_saved(name, {page})  # until it is written no row leaves the log, and then it is valid

    def write(self, batch: Sequence[BuiltPages]) -> dict[StreamName, int]:
        """Write claimed pages in place of the stored ones; return the numbers of their streams."""
        numbers: dict[StreamName, int] = {}
        with self.blocks.transaction():
            self.blocks.database.fork_barrier.wait()
            for (name, page, _), chunks, kept, position in batch:
                until = self.built_until.get(name)
                if until is None:
                    continue  # deleted in the meantime
                number = numbers[name] = self.blocks.upsert_stream(
                    name, min([until, *self.missing.get(name, ())])
                )
                self._delete_page(number, page, kept)
                for chunk in chunks:
                    self.blocks.write(number, chunk, small=False)
                if position is not None:
                    self.blocks.database.writer.execute(_SAVE_POSITION, (number, position))
        return numbers

    def publish(
        self, claims: Iterable[TierClaim], batch: Sequence[BuiltPages], numbers: Mapping[StreamName, int]
    ) -> None:
        """Make written pages readable, and mark the other claimed ones for rebuilding."""
        chunks_of_page = {(name, page): chunks for (name, page, _), chunks, *_ in batch}
        for name, page, _ in claims:
            if page in self._building.get(name, ()):
                self._building[name].discard(page)
                if name not in numbers:
                    self.invalidate_page(name, page)
                    continue
                self._numbers[name] = numbers[name]
                chunks = chunks_of_page.get((name, page), ())
                if chunks:
                    stream = self._open_stream(name)
                    stream.reload_spans(self.blocks.spans(stream.number))
                    for chunk in chunks:
                        self.index.add_schema(stream, chunk.layout.schema)
        self._building = {name: pages for name, pages in self._building.items() if pages}

    def names(self) -> set[StreamName]:
        return {*self.built_until, *self._numbers}

    def forget(self, names: Iterable[StreamName]) -> None:
        """Remove streams; `delete_pending` deletes their pages."""
        for name in names:
            stream = self.index.get(name.target, name.source)
            if stream is not None:
                self.index.remove(stream)
            self._pending_delete.append(name)
            for state in (
                self.built_until,
                self.missing,
                self._unsaved,
                self._building,
                self._numbers,
                self.built_positions,
            ):
                state.pop(name, None)

    def delete_pending(self) -> None:
        """Delete the pages of removed streams."""
        if self._pending_delete:
            pending = list(self._pending_delete)
            with self.blocks.transaction():
                self.blocks.database.fork_barrier.wait()
                for name in pending:
                    number = self.blocks.upsert_stream(name, 0)
                    self.blocks.delete_stream(number)
                    self.blocks.database.writer.execute("DELETE FROM built WHERE stream = ?", (number,))
            del self._pending_delete[: len(pending)]

    def expire(self, now: int, lock: Lock) -> None:
        lost = expire(self.blocks, self.config.retention, now)
        if not lost:
            return
        left = {number: list(self.blocks.spans(number)) for number in lost}
        with lock:
            for stream in list(self.index):
                spans = left.get(self._numbers.get(stream.name, 0))
                if spans:
                    stream.reload_spans(spans)
                    schemas = [schema for _, schema in self.blocks.schemas(spans) if schema is not None]
                    self.index.set_schemas(stream, schemas)
                elif spans is not None:
                    self.forget([stream.name])
        self.delete_pending()
        self.blocks.delete_unused_layouts()
        self.blocks.shrink(FREED_PAGES)

    def _mark_saved(self, name: StreamName, pages: set[int]) -> None:
        left = self._unsaved.pop(name, set()) - pages
        if left:
            self._unsaved[name] = left

    def _delete_page(self, number: int, page: int, kept: Collection[int] = ()) -> None:
        for chunk in self._extents(number, page):
            if chunk.number not in kept:
                self.blocks.delete_chunk(chunk.number)

    def _open_stream(self, name: StreamName) -> Stream:
        stream = self.index.get(name.target, name.source)
        if stream is None:
            stream = Stream(name, self._layouts, HeadLimits(), self._corruption_log)
            self.index.add(stream)
        stream.number = self._numbers[name]
        return stream

    def _extents(self, number: int, page: int) -> list[Extent]:
        return self.blocks.extents(number, page, page + self.config.page)

    def _drop_invalid(self, name: StreamName, parts: Iterable[_Part]) -> list[_Part]:
        invalid = self.missing.get(name, set()) | self._building.get(name, set())
        return [part for part in parts if self.page_at(part.start + 1) not in invalid]

    def _load(self) -> None:
        with self.blocks.transaction():
            self.blocks.database.writer.execute(_SCHEMA)
        names = {}
        for number, name, until in self.blocks.streams():
            names[number] = name
            self.built_until[name], self._numbers[name] = until, number
        positions = dict(self.blocks.database.read(_POSITIONS))
        self.built_positions = {
            name: positions[number] for number, name in names.items() if number in positions
        }
        for span, schema in self.blocks.schemas(self.blocks.spans()):
            stream = self._open_stream(names[span.stream])
            stream.spans.add(span.layout, span.start, span.end)
            if schema is not None:
                self.index.add_schema(stream, schema)
