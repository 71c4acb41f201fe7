"""Merges chunks of minutes into chunks of hours, which need fewer bytes per sample."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from vigie.store.blocks.block_store import BlockStore
from vigie.store.blocks.chunk import Chunk
from vigie.store.errors import CorruptionError
from vigie.store.heads.pieces import merge
from vigie.store.heads.stream import HeadLimits, Stream
from vigie.store.series.layout import Layouts, is_too_wide
from vigie.store.throttle import MaintenanceThrottle

SAMPLES_PER_COMMIT = 4_000_000
MAX_WIDENING = 2  # if wider than this, most cells of a merged chunk would be absent


class MergePlan(NamedTuple):
    """A chunk that replaces small ones of a stream."""

    stream: Stream
    merged: Chunk


class MergeDisturbedError(Exception):
    """A late row reopened a chunk while it was being merged; the merge is retried later."""


class Compaction:
    """Reads and compresses without the lock; takes it only to publish the merged chunks."""

    def __init__(
        self,
        lock: threading.RLock,
        blocks: BlockStore,
        layouts: Layouts,
        head_limits: HeadLimits,
        throttle: MaintenanceThrottle,
    ) -> None:
        self._lock, self._blocks, self._layouts, self._head_limits = lock, blocks, layouts, head_limits
        self._throttle = throttle

    def run(self, due: Sequence[tuple[Stream, int]]) -> None:
        """Merge the small chunks of each stream that end by a time."""
        merges: list[MergePlan] = []
        unmergeable: list[Chunk] = []
        size = 0
        for stream, until in due:
            if not self._throttle.may_continue():
                break
            runs = self._runs(stream, until)
            for run in runs:
                try:
                    merged = merge(self._layouts, run) if len(run) > 1 else None
                except CorruptionError:
                    merged = None  # reported when it is read; intact chunks stay readable
                if merged is None:
                    may_grow = len(runs) > 1 and run is runs[-1]  # newer chunks may follow to merge with it
                    unmergeable += [] if may_grow else run
                else:
                    numbers = tuple(chunk.number for chunk in run)
                    merges.append(MergePlan(stream, merged._replace(replaces=numbers)))
                    size += merged.rows * len(merged.layout)
            if size > SAMPLES_PER_COMMIT:
                self._commit(merges, unmergeable)
                merges, unmergeable, size = [], [], 0
        self._commit(merges, unmergeable)
        for stream, _ in due:
            self._update_unmerged(stream)

    def _runs(self, stream: Stream, until: int) -> list[list[Chunk]]:
        with self._lock:
            replaced = {number for piece in stream.pieces for number in piece.replaces}
            number = stream.number
            starts = [piece.start for piece in stream.pieces]
        runs: list[list[Chunk]] = []
        before: Chunk | None = None
        for chunk in self._blocks.small_chunks(number, until):
            if chunk.number in replaced:
                before = None
                continue
            between = before is not None and any(before.end < start < chunk.start for start in starts)
            if before is None or between or self._must_separate(number, runs[-1], chunk):
                runs.append([])
            runs[-1].append(chunk)
            before = chunk
        return runs

    def _must_separate(self, stream: int, run: Sequence[Chunk], chunk: Chunk) -> bool:
        if chunk.end - run[0].start > self._head_limits.block_ms * 3 // 2:
            return True
        if is_too_wide(self._layouts, [piece.layout for piece in (*run, chunk)], MAX_WIDENING):
            return True
        return self._blocks.has_chunk_between(stream, run[-1].end, chunk.start)

    def _commit(self, merges: Sequence[MergePlan], unmergeable: Sequence[Chunk]) -> None:
        if not merges and not unmergeable:
            return
        streams = list(dict.fromkeys(plan.stream for plan in merges))
        try:
            with self._blocks.transaction():
                self._blocks.database.fork_barrier.wait()
                numbers = [
                    self._blocks.write(plan.stream.number, plan.merged, small=False) for plan in merges
                ]
                self._blocks.mark_merged(unmergeable)
                with self._lock:
                    self._publish(merges, numbers)
        except MergeDisturbedError:
            pass
        finally:
            with self._lock:
                for stream in streams:
                    stream.merging = {}
        spans = [list(self._blocks.spans(stream.number)) for stream in streams]
        with self._lock:
            for stream, left in zip(streams, spans, strict=True):
                stream.reload_spans(left)

    def _publish(self, merges: Sequence[MergePlan], numbers: Sequence[int]) -> None:
        """From here on, late rows go to the merged chunk, whether its commit succeeds or not."""
        if any(plan.stream.has_late_rows(plan.merged) for plan in merges):
            raise MergeDisturbedError
        for plan, number in zip(merges, numbers, strict=True):
            merged = plan.merged._replace(number=number)
            plan.stream.merging.update(dict.fromkeys((*plan.merged.replaces, number), merged))
            plan.stream.drop_copies(plan.merged.replaces)

    def _update_unmerged(self, stream: Stream) -> None:
        first = self._blocks.first_small(stream.number)
        with self._lock:
            stream.unmerged_from = first
