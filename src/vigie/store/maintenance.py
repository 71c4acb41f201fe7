"""Background work of a store: closes heads, writes and merges chunks, applies retention, drops the log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from vigie.store.blocks.block_store import BlockStore
from vigie.store.blocks.chunk import Chunk
from vigie.store.blocks.fair_lock import FairLock
from vigie.store.compaction import Compaction
from vigie.store.heads.head import Head
from vigie.store.heads.index import Index
from vigie.store.heads.pieces import close
from vigie.store.heads.stream import HeadLimits, Stream
from vigie.store.retention import Retention, expire, forget
from vigie.store.rollups.rollups import RollupStore
from vigie.store.series.layout import Layouts
from vigie.store.throttle import MaintenanceThrottle
from vigie.store.wal.wal import WriteAheadLog, segment_of

STREAMS_A_LOOK = 256  # per acquisition of the lock
STREAMS_A_COMMIT = 64
PAGES_A_TIME = 8192
FORGET_MS = 60_000  # how often memory is checked for expired data
LAYOUTS_MS = 3_600_000  # how often unused layouts are deleted


class Maintenance:
    """Never waits for the disk while it holds the store's lock."""

    def __init__(
        self,
        guard: threading.RLock,
        index: Index,
        blocks: BlockStore,
        log: WriteAheadLog,
        layouts: Layouts,
        lengths: HeadLimits,
        retention: Retention,
        rollups: RollupStore,
        forgotten: Callable[[Sequence[Stream]], None],
    ) -> None:
        self._guard, self._index, self._blocks, self._log = guard, index, blocks, log
        self._layouts, self._lengths, self._retention = layouts, lengths, retention
        self._rollups, self._forgotten = rollups, forgotten
        self.pace = MaintenanceThrottle()
        self.turn = FairLock()  # serializes slow work, so that no step deletes what another one reads
        self._compaction = Compaction(guard, blocks, layouts, lengths, self.pace)
        self._doomed: list[Stream] = []  # removed from the index, still on disk
        self._tidied = self._forgot = 0
        self._head_rows = lengths.head_rows
        self._flushes = True

    def flush_all(self) -> None:
        """Write everything into blocks, and start a new log segment."""
        with self.turn:
            for some in self._slices(STREAMS_A_COMMIT):
                self._remove_doomed()
                with self._guard:
                    streams = self._alive(some)
                self._press([(stream, stream.heads()) for stream in streams])
                self._flush(streams)
                with self._guard:
                    for stream in streams:
                        stream.evict(stream.end)
                self._compaction.run([(stream, stream.end) for stream in streams])
            self._blocks.checkpoint()
            self._log.renew()
            self._drop_log()

    def maintain(self, now: int) -> None:
        """Run all that is due."""
        try:
            with self.turn:
                self._remove_doomed()
                self._expire(now)
        finally:  # otherwise memory and log would grow while deletion fails
            self._write_due(now)

    def _write_due(self, now: int) -> None:
        """Compress, write and merge what is due, and drop the log behind it."""
        series = 0
        for streams in self._slices(STREAMS_A_LOOK):
            series += self._resized(streams)
            due = [stream for stream in streams if stream.look_at <= now]
            for first in range(0, len(due), STREAMS_A_COMMIT):
                if not self.pace.goes_on():
                    return
                with self.turn:
                    self._remove_doomed()  # a new stream may have the name of a deleted one
                    self._look_after(due[first : first + STREAMS_A_COMMIT], now)
        self._head_rows = self._lengths.rows_of_heads(series)
        with self.turn:
            self._drop_log()

    def doom(self, streams: Sequence[Stream]) -> None:
        """Schedule streams that were just removed for deletion on disk; the caller holds the lock."""
        self._doomed += streams  # numbers are read later: a stream may be in its first flush

    def remove(self) -> None:
        """Delete scheduled streams; failures are retried by the next maintenance."""
        with self.turn:
            self._remove_doomed()
            self._rollups.remove_doomed()

    def _slices(self, count: int) -> Iterator[list[Stream]]:
        with self._guard:
            streams = list(self._index)
        for first in range(0, len(streams), count):
            yield streams[first : first + count]

    def _resized(self, streams: Sequence[Stream]) -> int:
        """Set the length of heads; return the number of series."""
        with self._guard:
            for stream in streams:
                stream.resize(self._head_rows)
            return sum(stream.width for stream in streams)

    def _look_after(self, streams: Sequence[Stream], now: int) -> None:
        with self._guard:
            streams = self._alive(streams)
            closable = [(stream, heads) for stream in streams if (heads := stream.closable(now))]
        self._press(closable)
        with self._guard:
            due = [stream for stream in streams if stream.due()]
        for first in range(0, len(due), STREAMS_A_COMMIT):
            self._flush(due[first : first + STREAMS_A_COMMIT])
        with self._guard:
            for stream in streams:
                stream.evict(max(stream.end, now) - self._lengths.keep_ms)
            small = [
                (stream, until) for stream in streams if (until := stream.mergeable_until(now)) is not None
            ]
        self._compaction.run(small)
        with self._guard:
            for stream in streams:
                stream.looked_at(now)

    def _press(self, closable: Sequence[tuple[Stream, Sequence[Head]]]) -> None:
        for stream, heads in closable:
            for head in heads:
                self.pace.give_way()
                changes = head.changes
                chunk = close(self._layouts, head)  # without the lock: a change in the meantime is detected
                with self._guard:
                    stream.closed(head, changes, chunk)

    def _flush(self, streams: Sequence[Stream]) -> None:
        with self._guard:
            notes = self._rollups.notes()
            due = [(stream, stream.due(), self._flushed(stream)) for stream in streams]
        due = [(stream, chunks, flushed) for stream, chunks, flushed in due if chunks]
        if not due:
            return
        self._rollups.keep_notes(notes, self._guard)  # while the log still has the late rows
        written: list[tuple[Stream, int, int, list[tuple[Chunk, int, int]]]] = []
        try:
            with self._blocks.transaction():
                if any(chunk.replaces for _, chunks, _ in due for chunk in chunks):
                    self._blocks.database.births.wait()
                for stream, chunks, flushed in due:
                    number = self._blocks.keep_stream(stream.name, flushed)
                    numbers = [self._blocks.write(number, chunk, small=True) for chunk in chunks]
                    self._blocks.unsettled.update(numbers)
                    layouts = [self._blocks.layouts.number(chunk.layout) for chunk in chunks]
                    places = list(zip(chunks, numbers, layouts, strict=True))
                    written.append((stream, number, flushed, places))
            self._flushes = True
            with self._guard:
                for stream, number, flushed, places in written:
                    stream.number, stream.flushed = number, flushed
                    for place in places:
                        stream.settled(*place)
        finally:
            self._blocks.unsettled.clear()

    def _flushed(self, stream: Stream) -> int:
        """Return the position before which all rows of a stream are in chunks."""
        stay = [piece.since for piece in stream.pieces if not isinstance(piece, Chunk)]
        return min(stay, default=self._log.position)

    def _expire(self, now: int) -> None:
        lost = expire(self._blocks, self._retention.beside(self._rollups.size()), now)
        gone = [*lost.values(), *self._forget(lost, now)]
        self._remove_doomed()
        if gone:  # from the data, not from the clock, which may be wrong
            self._rollups.raw_expired(max(gone) + 1)
        if lost and not self._tidied <= now <= self._tidied + LAYOUTS_MS:
            self._tidied = now
            self._blocks.forget_layouts()
        if lost:
            self._blocks.shrink(PAGES_A_TIME)

    def _forget(self, lost: Mapping[int, int], now: int) -> list[int]:
        """Drop expired data from memory; return the last times of pieces that were dropped by age."""
        if not lost and self._forgot <= now < self._forgot + min(FORGET_MS, self._retention.age_ms // 100):
            return []
        self._forgot, gone = now, list[int]()
        for streams in self._slices(STREAMS_A_LOOK):
            with self._guard:
                for stream in self._alive(streams):
                    forgotten = forget(stream, self._retention, now)
                    gone += forgotten
                    if stream.number in lost:
                        stream.evict(lost[stream.number])
                        stream.respan(self._blocks.spans(stream.number))
                    if forgotten or stream.number in lost:
                        self._renew(stream)
                        if not stream.pieces and not stream.spans:
                            self._forgotten([stream])
                            self.doom([stream])
        return gone

    def _renew(self, stream: Stream) -> None:
        stored = self._blocks.spans(stream.number) if stream.spans else ()
        outlines = {outline for _, outline in self._blocks.outlines(stored) if outline is not None}
        self._index.renew(stream, outlines.union(piece.layout.outline for piece in stream.pieces))

    def _alive(self, streams: Sequence[Stream]) -> list[Stream]:
        return [one for one in streams if self._index.get(one.name.target, one.name.source) is one]

    def _remove_doomed(self) -> None:
        doomed = list(self._doomed)  # more may be added in the meantime
        numbers = [stream.number for stream in doomed if stream.number]
        if numbers:
            with self._blocks.transaction():
                self._blocks.database.births.wait()
                for number in numbers:
                    self._blocks.remove_stream(number)
        del self._doomed[: len(doomed)]

    def _drop_log(self) -> None:
        if not self._flushes or len(self._log.paths()) < 2:
            return
        self._flushes = False
        with self._guard:
            oldest = self._log.position  # later rows are behind this position
        self._remove_doomed()  # while the log still has their deletion
        for streams in self._slices(STREAMS_A_LOOK):
            with self._guard:
                sinces = [since for stream in streams if (since := stream.since) is not None]
            oldest = min([oldest, *sinces])
        self._log.drop_before(segment_of(oldest))
