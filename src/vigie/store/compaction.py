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

SAMPLES_A_COMMIT = 4_000_000
WIDER = 2  # if wider than this, most cells of a merged chunk would be absent


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
        guard: threading.RLock,
        blocks: BlockStore,
        layouts: Layouts,
        lengths: HeadLimits,
        pace: MaintenanceThrottle,
    ) -> None:
        self._guard, self._blocks, self._layouts, self._lengths = guard, blocks, layouts, lengths
        self._pace = pace

    def run(self, due: Sequence[tuple[Stream, int]]) -> None:
        """Merge the small chunks of each stream that end by a time."""
        merges: list[MergePlan] = []
        lonely: list[Chunk] = []
        size = 0
        for stream, until in due:
            if not self._pace.goes_on():
                break
            runs = self._runs(stream, until)
            for run in runs:
                try:
                    merged = merge(self._layouts, run) if len(run) > 1 else None
                except CorruptionError:
                    merged = None  # reported when it is read; intact chunks stay readable
                if merged is None:
                    newest = len(runs) > 1 and run is runs[-1]  # newer chunks may follow to merge with it
                    lonely += [] if newest else run
                else:
                    numbers = tuple(chunk.number for chunk in run)
                    merges.append(MergePlan(stream, merged._replace(replaces=numbers)))
                    size += merged.rows * len(merged.layout)
            if size > SAMPLES_A_COMMIT:
                self._exchange(merges, lonely)
                merges, lonely, size = [], [], 0
        self._exchange(merges, lonely)
        for stream, _ in due:
            self._note_rest(stream)

    def _runs(self, stream: Stream, until: int) -> list[list[Chunk]]:
        with self._guard:
            busy = {number for piece in stream.pieces for number in piece.replaces}
            number = stream.number
            starts = [piece.start for piece in stream.pieces]
        runs: list[list[Chunk]] = []
        before: Chunk | None = None
        for chunk in self._blocks.small(number, until):
            if chunk.number in busy:
                before = None
                continue
            between = before is not None and any(before.end < start < chunk.start for start in starts)
            if before is None or between or self._apart(number, runs[-1], chunk):
                runs.append([])
            runs[-1].append(chunk)
            before = chunk
        return runs

    def _apart(self, stream: int, run: Sequence[Chunk], chunk: Chunk) -> bool:
        if chunk.end - run[0].start > self._lengths.block_ms * 3 // 2:
            return True
        if is_too_wide(self._layouts, [piece.layout for piece in (*run, chunk)], WIDER):
            return True
        return self._blocks.between(stream, run[-1].end, chunk.start)

    def _exchange(self, merges: Sequence[MergePlan], lonely: Sequence[Chunk]) -> None:
        if not merges and not lonely:
            return
        touched = list(dict.fromkeys(one.stream for one in merges))
        try:
            with self._blocks.transaction():
                self._blocks.database.births.wait()
                numbers = [self._blocks.write(one.stream.number, one.merged, small=False) for one in merges]
                self._blocks.grown_up(lonely)
                with self._guard:
                    self._announce(merges, numbers)
        except MergeDisturbedError:
            pass
        finally:
            with self._guard:
                for stream in touched:
                    stream.merging = {}
        spans = [list(self._blocks.spans(stream.number)) for stream in touched]
        with self._guard:
            for stream, left in zip(touched, spans, strict=True):
                stream.respan(left)

    def _announce(self, merges: Sequence[MergePlan], numbers: Sequence[int]) -> None:
        """From here on, late rows go to the merged chunk, whether its commit succeeds or not."""
        if any(one.stream.took_up(one.merged) for one in merges):
            raise MergeDisturbedError
        for one, number in zip(merges, numbers, strict=True):
            merged = one.merged._replace(number=number)
            one.stream.merging.update(dict.fromkeys((*one.merged.replaces, number), merged))
            one.stream.let_go(one.merged.replaces)

    def _note_rest(self, stream: Stream) -> None:
        first = self._blocks.first_small(stream.number)
        with self._guard:
            stream.small_from = first
