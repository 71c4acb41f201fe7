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
from vigie.store.retention import Retention, expire, expire_memory
from vigie.store.rollups.rollups import RollupStore
from vigie.store.series.layout import Layouts
from vigie.store.throttle import MaintenanceThrottle
from vigie.store.wal.wal import WriteAheadLog, segment_of

STREAMS_PER_LOCK = 256  # per acquisition of the lock
STREAMS_PER_COMMIT = 64
PAGES_PER_SHRINK = 8192
EXPIRE_MEMORY_MS = 60_000  # how often memory is checked for expired data
SWEEP_LAYOUTS_MS = 3_600_000  # how often unused layouts are deleted


class Maintenance:
    """Never waits for the disk while it holds the store's lock."""

    def __init__(
        self,
        lock: threading.RLock,
        index: Index,
        blocks: BlockStore,
        log: WriteAheadLog,
        layouts: Layouts,
        head_limits: HeadLimits,
        retention: Retention,
        rollups: RollupStore,
        on_forget: Callable[[Sequence[Stream]], None],
    ) -> None:
        self._lock, self._index, self._blocks, self._log = lock, index, blocks, log
        self._layouts, self._head_limits, self._retention = layouts, head_limits, retention
        self._rollups, self._on_forget = rollups, on_forget
        self.throttle = MaintenanceThrottle()
        self.work_lock = FairLock()  # serializes slow work, so that no step deletes what another one reads
        self._compaction = Compaction(lock, blocks, layouts, head_limits, self.throttle)
        self._pending_delete: list[Stream] = []  # removed from the index, still on disk
        self._layouts_swept_at = self._expired_at = 0
        self._head_rows = head_limits.head_rows
        self._has_flushed = True

    def flush_all(self) -> None:
        """Write everything into blocks, and start a new log segment."""
        with self.work_lock:
            for some in self._iter_batches(STREAMS_PER_COMMIT):
                self._delete_streams()
                with self._lock:
                    streams = self._live_streams(some)
                self._close_heads([(stream, stream.heads()) for stream in streams])
                self._flush(streams)
                with self._lock:
                    for stream in streams:
                        stream.evict(stream.end)
                self._compaction.run([(stream, stream.end) for stream in streams])
            self._blocks.checkpoint()
            self._log.rotate()
            self._drop_log()

    def maintain(self, now: int) -> None:
        """Run all that is due."""
        try:
            with self.work_lock:
                self._delete_streams()
                self._expire(now)
        finally:  # otherwise memory and log would grow while deletion fails
            self._write_due(now)

    def _write_due(self, now: int) -> None:
        """Compress, write and merge what is due, and drop the log behind it."""
        series = 0
        for streams in self._iter_batches(STREAMS_PER_LOCK):
            series += self._resize_heads(streams)
            chunks_to_flush = [stream for stream in streams if stream.next_maintenance <= now]
            for first in range(0, len(chunks_to_flush), STREAMS_PER_COMMIT):
                if not self.throttle.may_continue():
                    return
                with self.work_lock:
                    self._delete_streams()  # a new stream may have the name of a deleted one
                    self._maintain_streams(chunks_to_flush[first : first + STREAMS_PER_COMMIT], now)
        self._head_rows = self._head_limits.rows_per_head(series)
        with self.work_lock:
            self._drop_log()

    def mark_for_deletion(self, streams: Sequence[Stream]) -> None:
        """Schedule streams that were just removed for deletion on disk; the caller holds the lock."""
        self._pending_delete += streams  # numbers are read later: a stream may be in its first flush

    def delete_pending(self) -> None:
        """Delete scheduled streams; failures are retried by the next maintenance."""
        with self.work_lock:
            self._delete_streams()
            self._rollups.delete_pending()

    def _iter_batches(self, count: int) -> Iterator[list[Stream]]:
        with self._lock:
            streams = list(self._index)
        for first in range(0, len(streams), count):
            yield streams[first : first + count]

    def _resize_heads(self, streams: Sequence[Stream]) -> int:
        """Set the length of heads; return the number of series."""
        with self._lock:
            for stream in streams:
                stream.resize(self._head_rows)
            return sum(stream.width for stream in streams)

    def _maintain_streams(self, streams: Sequence[Stream], now: int) -> None:
        with self._lock:
            streams = self._live_streams(streams)
            closable_heads = [(stream, heads) for stream in streams if (heads := stream.closable_heads(now))]
        self._close_heads(closable_heads)
        with self._lock:
            chunks_to_flush = [stream for stream in streams if stream.chunks_to_flush()]
        for first in range(0, len(chunks_to_flush), STREAMS_PER_COMMIT):
            self._flush(chunks_to_flush[first : first + STREAMS_PER_COMMIT])
        with self._lock:
            for stream in streams:
                stream.evict(max(stream.end, now) - self._head_limits.keep_ms)
            small = [
                (stream, until) for stream in streams if (until := stream.mergeable_until(now)) is not None
            ]
        self._compaction.run(small)
        with self._lock:
            for stream in streams:
                stream.mark_maintained(now)

    def _close_heads(self, closable_heads: Sequence[tuple[Stream, Sequence[Head]]]) -> None:
        for stream, heads in closable_heads:
            for head in heads:
                self.throttle.yield_to_queries()
                changes = head.changes
                chunk = close(self._layouts, head)  # without the lock: a change in the meantime is detected
                with self._lock:
                    stream.replace_head(head, changes, chunk)

    def _flush(self, streams: Sequence[Stream]) -> None:
        with self._lock:
            invalid_pages = self._rollups.invalid_pages()
            chunks_to_flush = [
                (stream, stream.chunks_to_flush(), self._flush_position(stream)) for stream in streams
            ]
        chunks_to_flush = [(stream, chunks, flushed) for stream, chunks, flushed in chunks_to_flush if chunks]
        if not chunks_to_flush:
            return
        self._rollups.save_invalid_pages(invalid_pages, self._lock)  # while the log still has the late rows
        written: list[tuple[Stream, int, int, list[tuple[Chunk, int, int]]]] = []
        try:
            with self._blocks.transaction():
                if any(chunk.replaces for _, chunks, _ in chunks_to_flush for chunk in chunks):
                    self._blocks.database.fork_barrier.wait()
                for stream, chunks, flushed in chunks_to_flush:
                    number = self._blocks.upsert_stream(stream.name, flushed)
                    numbers = [self._blocks.write(number, chunk, small=True) for chunk in chunks]
                    self._blocks.unpublished.update(numbers)
                    layouts = [self._blocks.layouts.number(chunk.layout) for chunk in chunks]
                    places = list(zip(chunks, numbers, layouts, strict=True))
                    written.append((stream, number, flushed, places))
            self._has_flushed = True
            with self._lock:
                for stream, number, flushed, places in written:
                    stream.number, stream.flushed = number, flushed
                    for place in places:
                        stream.mark_stored(*place)
        finally:
            self._blocks.unpublished.clear()

    def _flush_position(self, stream: Stream) -> int:
        """Return the position before which all rows of a stream are in chunks."""
        stay = [piece.since for piece in stream.pieces if not isinstance(piece, Chunk)]
        return min(stay, default=self._log.position)

    def _expire(self, now: int) -> None:
        lost = expire(self._blocks, self._retention.reserve_rollups(self._rollups.size()), now)
        gone = [*lost.values(), *self._expire_memory(lost, now)]
        self._delete_streams()
        if gone:  # from the data, not from the clock, which may be wrong
            self._rollups.set_raw_since(max(gone) + 1)
        if lost and not self._layouts_swept_at <= now <= self._layouts_swept_at + SWEEP_LAYOUTS_MS:
            self._layouts_swept_at = now
            self._blocks.delete_unused_layouts()
        if lost:
            self._blocks.shrink(PAGES_PER_SHRINK)

    def _expire_memory(self, lost: Mapping[int, int], now: int) -> list[int]:
        """Drop expired data from memory; return the last times of pieces that were dropped by age."""
        if not lost and self._expired_at <= now < self._expired_at + min(
            EXPIRE_MEMORY_MS, self._retention.age_ms // 100
        ):
            return []
        self._expired_at, gone = now, list[int]()
        for streams in self._iter_batches(STREAMS_PER_LOCK):
            with self._lock:
                for stream in self._live_streams(streams):
                    on_forget = expire_memory(stream, self._retention, now)
                    gone += on_forget
                    if stream.number in lost:
                        stream.evict(lost[stream.number])
                        stream.reload_spans(self._blocks.spans(stream.number))
                    if on_forget or stream.number in lost:
                        self._refresh_index(stream)
                        if not stream.pieces and not stream.spans:
                            self._on_forget([stream])
                            self.mark_for_deletion([stream])
        return gone

    def _refresh_index(self, stream: Stream) -> None:
        stored = self._blocks.spans(stream.number) if stream.spans else ()
        schemas = {schema for _, schema in self._blocks.schemas(stored) if schema is not None}
        self._index.set_schemas(stream, schemas.union(piece.layout.schema for piece in stream.pieces))

    def _live_streams(self, streams: Sequence[Stream]) -> list[Stream]:
        return [one for one in streams if self._index.get(one.name.target, one.name.source) is one]

    def _delete_streams(self) -> None:
        pending = list(self._pending_delete)  # more may be added in the meantime
        numbers = [stream.number for stream in pending if stream.number]
        if numbers:
            with self._blocks.transaction():
                self._blocks.database.fork_barrier.wait()
                for number in numbers:
                    self._blocks.delete_stream(number)
        del self._pending_delete[: len(pending)]

    def _drop_log(self) -> None:
        if not self._has_flushed or len(self._log.paths()) < 2:
            return
        self._has_flushed = False
        with self._lock:
            oldest = self._log.position  # later rows are behind this position
        self._delete_streams()  # while the log still has their deletion
        for streams in self._iter_batches(STREAMS_PER_LOCK):
            with self._lock:
                sinces = [since for stream in streams if (since := stream.since) is not None]
            oldest = min([oldest, *sinces])
        self._log.drop_before(segment_of(oldest))
