"""One table of one target: pieces in memory that are in no block yet, and where its blocks lie."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from vigie.store.chunk import Chunk, Piece, close, reopen
from vigie.store.codec import Floats
from vigie.store.head import Head
from vigie.store.layout import Layout, Layouts
from vigie.store.records import StreamName

BEFORE_ALL = -(1 << 63)


class Lengths(NamedTuple):
    """How much stays in memory, and how much goes into one block."""

    head_rows: int = 64
    keep_ms: int = 3_600_000
    block_ms: int = 7_200_000


class Stored(Protocol):
    """The chunks of a stream that are on disk."""

    def at(self, stream: int, time: int) -> Chunk | None:
        """Return the chunk whose first and last time enclose this one."""

    def between(self, stream: int, after: int, before: int) -> bool:
        """Tell whether a chunk begins between two times."""


class Stream:
    """Pieces never overlap in time, neither with each other nor with the chunks on disk."""

    def __init__(self, name: StreamName, layouts: Layouts, lengths: Lengths) -> None:
        self.name = name
        self.number = 0  # in the blocks; 0 as long as there are none
        self.flushed = 0  # every row that the log holds before this position is in a block
        self.pieces: list[Piece] = []
        self.spans: dict[
            Layout, tuple[int, int]
        ] = {}  # the layouts on disk, each with its first and last time
        self.last_stored = BEFORE_ALL  # the last time on disk
        self._layouts = layouts
        self._lengths = lengths
        self._phase = 0.5 + zlib.crc32(repr(name).encode()) / (1 << 33)  # so that not all are due at once

    @property
    def end(self) -> int:
        """Return the last time of all."""
        return max(self.pieces[-1].end if self.pieces else BEFORE_ALL, self.last_stored)

    @property
    def since(self) -> int | None:
        """Return the log's position of the oldest row that is in no block."""
        return min((piece.since for piece in self.pieces), default=None)

    def holds(self, time: int, stored: Stored) -> bool:
        """Tell whether there is a row of this time."""
        if time > self.end:
            return False
        at = self._index_at(time)
        piece = self.pieces[at] if at is not None else stored.at(self.number, time)
        return piece is not None and bool((piece.times == time).any())

    def put(self, layout: Layout, time: int, row: Floats, since: int, stored: Stored) -> None:
        """Keep a row; one whose time is there already changes nothing, but fills cells of loose series."""
        if time > self.end:
            head = self._newest(layout, since)
        elif self.name.framed and self.holds(time, stored):
            return
        else:
            head = self._head_for(layout, time, since, stored)
        if self.name.framed:
            head.put(self._layouts, layout, time, row, since)
        else:
            head.fill(self._layouts, layout, time, row, since)

    def close_heads(self, newest: bool = False) -> None:
        """Press every head but the one that grows."""
        last = len(self.pieces) - (0 if newest else 1)
        for i, piece in enumerate(self.pieces[:last]):
            if isinstance(piece, Head):
                self.pieces[i] = close(self._layouts, piece)

    def due(self, now: int) -> list[Piece]:
        """Return the pieces that should go into a block now."""
        if not self.pieces:
            return []
        lengths = self._lengths
        if self.pieces[0].start < now - 2 * (lengths.keep_ms + lengths.block_ms):
            return list(self.pieces)  # a quiet stream holds back no log
        old = [piece for piece in self.pieces[:-1] if piece.end <= self.pieces[-1].end - lengths.keep_ms]
        span = lengths.block_ms if self.number else int(lengths.block_ms * self._phase)
        return old if old and old[-1].end - old[0].start >= span else []

    def runs(self, pieces: Sequence[Piece], stored: Stored) -> list[list[Piece]]:
        """Return the pieces in runs that may each become one chunk."""
        runs: list[list[Piece]] = []
        for piece in pieces:
            follows = runs and not self._apart(runs[-1], piece, stored)
            runs[-1].append(piece) if follows else runs.append([piece])
        return runs

    def settled(self, pieces: Sequence[Piece], chunks: Sequence[Chunk]) -> None:
        """Forget pieces that are in blocks now."""
        gone = {id(piece) for piece in pieces}
        self.pieces = [piece for piece in self.pieces if id(piece) not in gone]
        for chunk in chunks:
            self.add_span(chunk.layout, chunk.start, chunk.end)

    def respan(self, spans: Iterable[tuple[int, Layout, int, int]]) -> None:
        """Note anew what is on disk."""
        self.spans, self.last_stored = {}, BEFORE_ALL
        for _, layout, start, end in spans:
            self.add_span(layout, start, end)

    def add_span(self, layout: Layout, start: int, end: int) -> None:
        """Note that there is a chunk on disk."""
        first, last = self.spans.get(layout, (start, end))
        self.spans[layout] = (min(first, start), max(last, end))
        self.last_stored = max(self.last_stored, end)

    def _apart(self, run: list[Piece], piece: Piece, stored: Stored) -> bool:
        if piece.end - run[0].start > 2 * self._lengths.block_ms:
            return True
        late = run[-1].end < self.last_stored
        return late and stored.between(self.number, run[-1].end, piece.start)

    def _newest(self, layout: Layout, since: int) -> Head:
        last = self.pieces[-1] if self.pieces else None
        if isinstance(last, Head) and last.end >= self.last_stored and self._has_room(last, layout):
            return last
        self.close_heads(newest=True)
        self.pieces.append(head := Head(layout, since))
        return head

    def _has_room(self, head: Head, layout: Layout) -> bool:
        return head.rows < self._lengths.head_rows and len(head.layout) <= 2 * len(layout) + 64

    def _head_for(self, layout: Layout, time: int, since: int, stored: Stored) -> Head:
        at = self._index_at(time)
        if at is not None:
            piece = self.pieces[at]
            self.pieces[at] = head = piece if isinstance(piece, Head) else reopen(piece, since)
            return head
        chunk = stored.at(self.number, time)
        if chunk is not None:
            return self._insert(reopen(chunk, since), chunk.start)
        return self._gap_head(layout, time, since, stored)

    def _gap_head(self, layout: Layout, time: int, since: int, stored: Stored) -> Head:
        at = bisect_left(self.pieces, time, key=lambda piece: piece.start)
        before = self.pieces[at - 1] if at else None
        grows = isinstance(before, Head) and self._has_room(before, layout)
        if before is None or not grows or stored.between(self.number, before.end, time):
            before = self._insert(Head(layout, since), time)
        assert isinstance(before, Head)
        return before

    def _insert(self, head: Head, start: int) -> Head:
        self.pieces.insert(bisect_left(self.pieces, start, key=lambda piece: piece.start), head)
        return head

    def _index_at(self, time: int) -> int | None:
        at = bisect_left(self.pieces, time + 1, key=lambda piece: piece.start) - 1
        return at if at >= 0 and self.pieces[at].end >= time else None
