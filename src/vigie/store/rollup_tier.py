"""Rollups of one width in a file of their own: pages of buckets, each a chunk that spans a fixed time."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from vigie.store.blocks import Blocks
from vigie.store.chunk import Chunk
from vigie.store.errors import StoreError
from vigie.store.index import Index
from vigie.store.layout import Layout, Layouts
from vigie.store.records import StreamName
from vigie.store.retention import Retention, expire
from vigie.store.stream import BEFORE_ALL, Lengths, Stream

log = logging.getLogger(__name__)

FREED_PAGES = 10_000  # given back at once


class Kind(NamedTuple):
    """How wide the buckets are, how many fill a page, after how many a page is written anew; and the age."""

    name: str
    width: int
    page_buckets: int
    every: int
    retention: Retention

    @property
    def page(self) -> int:
        """Return how long a page is, in milliseconds."""
        return self.width * self.page_buckets


class Made(NamedTuple):
    """A page of a stream, None if there are no samples, and up to when it was made."""

    name: StreamName
    page: int
    chunk: Chunk | None
    stop: int


class Tier:
    """A page that is there is right up to its end; where there is none, the finer data are asked.

    So a page is taken away when late samples fall into it, before they leave the log, and made again later.
    """

    def __init__(self, directory: Path, kind: Kind, layouts: Layouts) -> None:
        self.kind = kind
        self.index = Index()
        self.damages: list[str] = []
        self.until: dict[StreamName, int] = {}  # every page before is made, but for the missing ones
        self.missing: dict[StreamName, set[int]] = {}
        self._unsaid: dict[StreamName, set[int]] = {}  # missing, and still on disk
        self._making: dict[StreamName, set[int]] = {}  # made, and not on disk yet
        self._numbers: dict[StreamName, int] = {}
        self._layouts = layouts
        self.path = directory / f"rollups-{kind.name}.sqlite"
        self.blocks = self._opened()

    def note(self, name: StreamName, time: int) -> None:
        """Take away the page of a sample that comes late."""
        if time <= self.reach(name):
            self.spoil(name, self.page_at(time))

    def reach(self, name: StreamName) -> int:
        """Return up to when there are pages of a stream."""
        stream = self.index.get(name.target, name.source)
        return BEFORE_ALL if stream is None else stream.last_stored

    def spoil(self, name: StreamName, page: int) -> None:
        """Take a page away, to be made again."""
        if page not in self.missing.setdefault(name, set()):
            self.missing[name].add(page)
            self._unsaid.setdefault(name, set()).add(page)

    def keep_notes(self) -> None:
        """Make durable which pages were taken away."""
        if not self._unsaid:
            return
        with self.blocks.transaction():
            self.blocks.database.births.wait()
            for name, pages in self._unsaid.items():
                number = self.blocks.keep_stream(name, min(*pages, self.until.get(name, min(pages))))
                for page in pages:
                    for chunk in self._stored(number, page, page + self.kind.page):
                        self.blocks.remove_chunk(chunk.number)
        self._unsaid.clear()

    def page_at(self, time: int) -> int:
        """Return the begin of the page that a sample of this time belongs to."""
        return (time - 1) // self.kind.page * self.kind.page

    def pages(self, name: StreamName, start: int, stop: int) -> list[Chunk]:
        """Return the pages that begin between two times, in order."""
        if name not in self._numbers:
            return []
        wrong = self.missing.get(name, set()) | self._making.get(name, set())
        return [page for page in self._stored(self._numbers[name], start, stop) if page.start not in wrong]

    def claim(self, made: Made) -> None:
        """Take over a page that was just made of what is there; a row that comes from now on is late."""
        name, page, chunk, stop = made
        self.until[name] = max(self.until.get(name, stop), stop)
        self._making.setdefault(name, set()).add(page)
        self.missing.get(name, set()).discard(page)
        if not self.missing.get(name, True):
            del self.missing[name]
        if chunk is not None:
            self._known(name, chunk.layout, chunk.start, chunk.end)

    def write(self, batch: Sequence[Made]) -> None:
        """Make pages durable that were claimed, in place of what is there."""
        with self.blocks.transaction():
            self.blocks.database.births.wait()
            for name, page, chunk, _ in batch:
                if name not in self._making:
                    continue  # it was deleted meanwhile
                number = self.blocks.keep_stream(name, min([self.until[name], *self.missing.get(name, ())]))
                for old in self._stored(number, page, page + self.kind.page):
                    self.blocks.remove_chunk(old.number)
                if chunk is not None:
                    self.blocks.write(number, chunk, small=False)
                self._numbers[name] = number

    def settle(self, batch: Sequence[Made], done: bool) -> None:
        """Let pages that were written be read, or be made again if that failed."""
        for name, page, _, _ in batch:
            if name in self._making:
                self._making[name].discard(page)
                if not done:
                    self.spoil(name, page)
        self._making = {name: pages for name, pages in self._making.items() if pages}

    def remove(self, names: Iterable[StreamName]) -> None:
        """Forget streams with all their pages."""
        streams = [stream for name in names if (stream := self.index.get(name.target, name.source))]
        if streams:
            with self.blocks.transaction():
                self.blocks.database.births.wait()
                for stream in streams:
                    self.blocks.remove_stream(self.blocks.keep_stream(stream.name, 0))
        for stream in streams:
            self.index.remove(stream)
            for about in (self.until, self.missing, self._unsaid, self._making, self._numbers):
                about.pop(stream.name, None)

    def expire(self, now: int) -> None:
        """Remove pages that are too old."""
        lost = expire(self.blocks, self.kind.retention, now)
        for stream in [stream for stream in self.index if self._numbers.get(stream.name) in lost]:
            stream.respan(self.blocks.spans(self._numbers[stream.name]))
            if stream.spans:
                self.index.renew(stream)
            else:
                self.remove([stream.name])
        if lost:
            self.blocks.forget_layouts()
            self.blocks.shrink(FREED_PAGES)

    def _known(self, name: StreamName, layout: Layout, start: int, end: int) -> None:
        stream = self.index.get(name.target, name.source)
        if stream is None:
            stream = Stream(name, self._layouts, Lengths())
            self.index.add(stream)
        stream.add_span(layout, start, end)
        self.index.note(stream, layout)

    def _stored(self, number: int, start: int, stop: int) -> list[Chunk]:
        found = self.blocks.overlapping(number, start, stop - 1)
        return [chunk for chunk in found if start <= chunk.start < stop]

    def _opened(self) -> Blocks:
        """Open the file; one that cannot be read is put aside, since it is made again from raw data."""
        try:
            return self._loaded()
        except StoreError as error:
            aside = self.path.with_suffix(".damaged")
            self.path.replace(aside)
            for ending in ("-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            said = (
                f"{error}; it is put aside as {aside.name}, and made again as far back as raw data are kept"
            )
            log.warning("the store was damaged: %s", said)
            self.index, self.until, self._numbers = Index(), {}, {}
            blocks = self._loaded()
            self.damages.append(said)
            return blocks

    def _loaded(self) -> Blocks:
        blocks = Blocks(self.path, self._layouts)
        try:
            names = {}
            for number, name, until in blocks.streams():
                names[number] = name
                self.until[name], self._numbers[name] = until, number
            for number, layout, start, end in blocks.spans():
                self._known(names[number], layout, start, end)
        except BaseException:
            blocks.close()
            raise
        return blocks
