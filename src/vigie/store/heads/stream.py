"""One table of one target: its pieces in memory, and the spans of its chunks on disk."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from vigie.store.blocks.chunk import Chunk
from vigie.store.blocks.layout_spans import BEFORE_ALL as BEFORE_ALL
from vigie.store.blocks.layout_spans import LayoutSpan, LayoutSpans
from vigie.store.blocks.layout_store import CACHED_SERIES
from vigie.store.compression.codec import Floats
from vigie.store.corruption import CorruptionLog
from vigie.store.heads.head import Head
from vigie.store.heads.pieces import Piece, reopen
from vigie.store.series.layout import Layout, Layouts
from vigie.store.wal.records import StreamName, WalRows

NEVER = 1 << 62


class HeadLimits(NamedTuple):
    """How much stays in memory, and how much goes into one chunk."""

    head_rows: int = 160  # longer heads compress better; shortened when there are many series
    least_rows: int = 64
    head_cells: int = 48_000_000  # of all heads, while they are longer than the minimum
    head_ms: int = 2_400_000
    keep_ms: int = 3_600_000
    block_ms: int = 7_200_000
    cached_series: int = CACHED_SERIES  # of layouts read from disk

    def rows_per_head(self, series: int) -> int:
        """Return the length of heads for this number of series, in coarse steps."""
        step = max(1, self.least_rows // 2)
        fitting = self.head_cells // max(1, series) // step * step
        return min(self.head_rows, max(self.least_rows, fitting))


HEAD_LIMITS = HeadLimits()


class StoredChunks(Protocol):
    def chunk_at(self, stream: int, time: int) -> Chunk | None:
        """Return the chunk whose first and last time enclose this time."""

    def has_chunk_between(self, stream: int, after: int, before: int) -> bool:
        """Report whether a chunk starts between two times."""


class Stream:
    """Pieces overlap neither each other nor the chunks on disk."""

    def __init__(
        self, name: StreamName, layouts: Layouts, head_limits: HeadLimits, corruption_log: CorruptionLog
    ) -> None:
        self.name = name
        self.corruption_log = corruption_log
        self.number = 0  # in the block store; 0 before the first flush
        self.flushed = 0  # every row before this log position is in a block
        self.pieces: list[Piece] = []
        self.spans = LayoutSpans()  # layouts on disk
        self.complete_from = BEFORE_ALL  # every row from this time on is in memory
        self.unmerged_from: int | None = None  # start of the first unmerged chunk
        self.merging: dict[int, Chunk] = {}  # chunks on disk being replaced, and their replacements
        self.next_maintenance = BEFORE_ALL  # earliest time at which maintenance may have work
        self.next_rollup: dict[int, int] = {}  # by bucket width, earliest time at which rollups may be due
        self.rollup_limit: int | None = None  # rows up to this time are late for rollups; None if unknown
        self._layouts = layouts
        self._head_limits = head_limits
        self._head_rows = head_limits.head_rows
        self._phase = zlib.crc32(repr(name).encode()) / (1 << 32)  # spreads work over time

    @property
    def last_stored(self) -> int:
        """Return the newest time on disk."""
        return self.spans.end

    @property
    def end(self) -> int:
        """Return the newest time."""
        return max(self.pieces[-1].end if self.pieces else BEFORE_ALL, self.last_stored)

    @property
    def since(self) -> int | None:
        """Return the log position of the oldest row that is in no block."""
        return min((piece.since for piece in self.pieces if not piece.number), default=None)

    @property
    def width(self) -> int:
        """Return the number of series of the newest piece in memory."""
        return len(self.pieces[-1].layout) if self.pieces else 0

    def resize(self, head_rows: int) -> None:
        """Set the length of heads."""
        if head_rows != self._head_rows:
            self._head_rows = head_rows
            for head in self.heads():
                head.limit = self._limit()
            self.next_maintenance = BEFORE_ALL

    def has_row(self, time: int, stored: StoredChunks) -> bool:
        if time > self.end:
            return False
        at = self._find_piece(time)
        piece = self.pieces[at] if at is not None else stored.chunk_at(self.number, time)
        return piece is not None and bool((piece.times == time).any())

    def try_append(self, layout: Layout, time: int, row: Floats, *, sparse: bool) -> bool:
        """Append a row to the newest head; return False if that needs more than a copy."""
        last = self.pieces[-1] if self.pieces else None
        if not isinstance(last, Head) or not self.spans.end <= last.end < time:
            return False
        pushed = last.try_append(layout, time, row, sparse=sparse)
        if last.rows >= last.limit:
            self.next_maintenance = BEFORE_ALL
        return pushed

    def insert(self, layout: Layout, time: int, row: Floats, since: int, stored: StoredChunks) -> None:
        """Insert a row; an existing row is kept, but absent cells of an ungrouped one are filled."""
        self.next_maintenance = BEFORE_ALL
        if time > self.end:
            head = self._newest_head(layout, since)
        elif self.name.framed and self.has_row(time, stored):
            return
        else:
            head = self._head_for(layout, time, since, stored)
        if self.name.framed:
            head.insert(self._layouts, layout, time, row, since)
        else:
            head.fill(self._layouts, layout, time, row, since)

    def insert_many(self, rows: WalRows, stored: StoredChunks) -> None:
        """Insert rows read from the log."""
        self.next_maintenance = BEFORE_ALL
        times = rows.times
        if not self.name.framed or int(times[0]) <= self.end or not (np.diff(times) > 0).all():
            for i, time in enumerate(times.tolist()):
                self.insert(rows.layout, time, rows.values[i], int(rows.positions[i]), stored)
            return
        at = 0
        while at < len(times):
            head = self._newest_head(rows.layout, int(rows.positions[at]))
            till = at + max(1, self._limit() - head.rows)
            head.extend(
                self._layouts, rows.layout, times[at:till], rows.values[at:till], int(rows.positions[at])
            )
            at = till

    def closable_heads(self, now: int) -> list[Head]:
        """Return the heads to close: full, old, or without recent changes."""
        return [head for head in self.heads() if self._is_closable(head, now)]

    def heads(self) -> list[Head]:
        return [piece for piece in self.pieces if isinstance(piece, Head)]

    def replace_head(self, head: Head, changes: int, chunk: Chunk) -> None:
        """Replace a head by its chunk, unless the head has changed since it was compressed."""
        if head.changes == changes:
            chunk = chunk._replace(since=head.since, replaces=tuple(head.replaces))
            self.pieces = [chunk if piece is head else piece for piece in self.pieces]

    def chunks_to_flush(self) -> list[Chunk]:
        """Return the chunks that are in no block yet."""
        return [piece for piece in self.pieces if isinstance(piece, Chunk) and not piece.number]

    def mark_stored(self, chunk: Chunk, number: int, layout: int) -> None:
        """Record the number of a chunk that was flushed; a copy stays in memory."""
        for i, piece in enumerate(self.pieces):
            if piece is chunk:
                self.pieces[i] = chunk._replace(number=number, replaces=())
            elif piece.start <= chunk.start <= piece.end:  # reopened in the meantime for a late row
                self._add_replaced(i, number)
        self.spans.add(layout, chunk.start, chunk.end)
        self.unmerged_from = min(
            chunk.start, chunk.start if self.unmerged_from is None else self.unmerged_from
        )

    def evict(self, before: int) -> None:
        """Drop copies of stored chunks that are older than this."""
        self.drop_copies({piece.number for piece in self.pieces if piece.number and piece.end <= before})

    def drop_copies(self, numbers: Collection[int]) -> None:
        gone = [piece for piece in self.pieces if piece.number in numbers]
        if gone:
            self.complete_from = max(self.complete_from, gone[-1].end + 1)
            self.pieces = [piece for piece in self.pieces if piece.number not in numbers]

    def has_late_rows(self, merged: Chunk) -> bool:
        """Report whether late rows arrived in the range of chunks since they were merged."""
        replaced = set(merged.replaces)
        return any(
            not replaced.isdisjoint(piece.replaces) or merged.start <= piece.start <= merged.end
            for piece in self.pieces
            if piece.number not in replaced
        )

    def cached_from(self, end: int) -> int:
        """Return from which time memory keeps chunks, for a query up to a time."""
        return max(self.end, end) - self._head_limits.keep_ms

    def cache_chunks(self, chunks: Sequence[Chunk], end: int) -> None:
        """Keep the chunks that a query of the newest rows read from disk."""
        if end < self.last_stored or self.merging:
            return  # the query did not cover all that memory keeps, or chunks are about to change
        before = self.cached_from(end)
        recent = [chunk for chunk in chunks if chunk.end > before]
        if recent:
            self.pieces = sorted([*recent, *self.pieces], key=lambda piece: piece.start)
            self.complete_from = min(self.complete_from, recent[0].start)
            self.next_maintenance = BEFORE_ALL

    def mergeable_until(self, now: int) -> int | None:
        """Return up to which time small chunks should be merged now, if any."""
        until = max(self.end, now)
        if self.unmerged_from is None or until - self.unmerged_from < self._block_ms():
            return None
        return until

    def mark_maintained(self, now: int) -> None:
        """Schedule the next maintenance, if nothing changes until then."""
        ahead = max(0, self.end - now)  # a stream ahead of the clock is scheduled by its own time
        self.next_maintenance = self._next_due() - ahead if self._is_quiet() else BEFORE_ALL

    def _is_quiet(self) -> bool:
        last = self.pieces[-1] if self.pieces else None
        waits = any(not piece.number for piece in self.pieces[:-1])
        full = last is not None and not last.number and (isinstance(last, Chunk) or last.rows >= last.limit)
        return not waits and not full

    def _next_due(self) -> int:
        head_limits, when = self._head_limits, list[int]()
        for piece in self.pieces:
            when.append(
                piece.end + head_limits.keep_ms if piece.number else piece.start + head_limits.head_ms
            )
        if self.unmerged_from is not None:
            when.append(self.unmerged_from + self._block_ms())
        return min(when, default=NEVER)

    def in_memory(self) -> set[int]:
        """Return the chunks on disk that are also in memory, or replaced by a piece in memory."""
        return {number for piece in self.pieces for number in (piece.number, *piece.replaces)}

    def reload_spans(self, spans: Iterable[LayoutSpan]) -> None:
        self.spans = LayoutSpans()
        for span in spans:
            self.spans.add(span.layout, span.start, span.end)

    def _is_closable(self, head: Head, now: int) -> bool:
        idle = head.seen == head.changes
        head.seen = head.changes
        if head is self.pieces[-1]:
            idle = False
        return (
            idle or head.rows >= self._limit() or max(now, head.end) - head.start >= self._head_limits.head_ms
        )

    def _add_replaced(self, i: int, number: int) -> None:
        piece = self.pieces[i]
        if isinstance(piece, Head):
            piece.replaces.append(number)
        else:
            self.pieces[i] = piece._replace(replaces=(*piece.replaces, number))

    def _limit(self) -> int:
        """Return the length of the next head; the first is shorter, so that streams are not due together."""
        first = not self.number and len(self.pieces) <= 1
        rows = self._head_rows
        return max(1, int(rows * (0.125 + 0.875 * self._phase))) if first else rows

    def _block_ms(self) -> int:
        """Return the span to merge; the first is shorter, so that streams are not due together."""
        first = self.unmerged_from == self.spans.start
        length = self._head_limits.block_ms
        return int(length * (0.25 + 0.75 * self._phase)) if first else length

    def _newest_head(self, layout: Layout, since: int) -> Head:
        last = self.pieces[-1] if self.pieces else None
        if isinstance(last, Head) and last.end >= self.last_stored and self._has_room(last, layout):
            head = last
        else:
            self.pieces.append(head := Head(layout, since))
        head.limit = self._limit()
        return head

    def _has_room(self, head: Head, layout: Layout) -> bool:
        return head.rows < self._limit() and len(head.layout) <= 2 * len(layout) + 64

    def _head_for(self, layout: Layout, time: int, since: int, stored: StoredChunks) -> Head:
        at = self._find_piece(time)
        if at is not None:
            piece = self.pieces[at]
            self.pieces[at] = head = piece if isinstance(piece, Head) else reopen(piece, since)
            return head
        chunk = self._merging_at(time) or stored.chunk_at(self.number, time)
        if chunk is not None:
            return self._insert(reopen(chunk, since), chunk.start)
        return self._head_in_gap(layout, time, since, stored)

    def _merging_at(self, time: int) -> Chunk | None:
        """Return the chunk about to be committed for this time."""
        return next((chunk for chunk in self.merging.values() if chunk.start <= time <= chunk.end), None)

    def _head_in_gap(self, layout: Layout, time: int, since: int, stored: StoredChunks) -> Head:
        at = bisect_left(self.pieces, time, key=lambda piece: piece.start)
        before = self.pieces[at - 1] if at else None
        grows = isinstance(before, Head) and self._has_room(before, layout)
        if before is None or not grows or stored.has_chunk_between(self.number, before.end, time):
            before = self._insert(Head(layout, since), time)
        assert isinstance(before, Head)
        return before

    def _insert(self, head: Head, start: int) -> Head:
        self.pieces.insert(bisect_left(self.pieces, start, key=lambda piece: piece.start), head)
        return head

    def _find_piece(self, time: int) -> int | None:
        at = bisect_left(self.pieces, time + 1, key=lambda piece: piece.start) - 1
        return at if at >= 0 and self.pieces[at].end >= time else None
