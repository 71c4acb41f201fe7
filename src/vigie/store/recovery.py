"""Rebuilds the state of a store: streams from the blocks, then rows and deletions from the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np

from vigie.store.blocks.block_store import BlockStore
from vigie.store.errors import CorruptionError
from vigie.store.heads.index import Index
from vigie.store.heads.stream import Stream
from vigie.store.rollups.rollups import RollupStore
from vigie.store.series.layout import Target
from vigie.store.wal.records import StreamName, WalDeletion, WalRows
from vigie.store.wal.segments import SegmentDamage
from vigie.store.wal.wal import WriteAheadLog, segment_of


class Recovery:
    """Runs once, when the store is opened."""

    def __init__(
        self,
        index: Index,
        blocks: BlockStore,
        log: WriteAheadLog,
        open_stream: Callable[[StreamName], Stream],
        remove: Callable[[Sequence[Stream], Collection[Target]], None],
        rollups: RollupStore,
    ) -> None:
        self._index, self._blocks, self._log = index, blocks, log
        self._open, self._remove, self._rollups = open_stream, remove, rollups
        self._unreadable: list[str] = []

    def run(self) -> list[str]:
        """Load and replay; return what was damaged."""
        newest = max(self._load_blocks(), segment_of(self._rollups.newest_log_position))
        damaged: list[SegmentDamage] = []
        for record in self._log.replay(damaged):
            if isinstance(record, list):
                for rows in order_rows(record):
                    self._insert(rows)
            else:
                self._delete(*record)
        self._log.start(newest + 1)
        return [*map(str, damaged), *self._unreadable]

    def _load_blocks(self) -> int:
        """Load the streams of the blocks; return the newest log segment they refer to."""
        by_number: dict[int, Stream] = {}
        for number, name, flushed in self._blocks.streams():
            stream = by_number[number] = self._open(name)
            stream.number, stream.flushed = number, flushed
        for span, schema in self._blocks.schemas(self._blocks.spans()):
            stream = by_number[span.stream]
            stream.spans.add(span.layout, span.start, span.end)
            if schema is not None:
                self._index.add_schema(stream, schema)
        for number, start in self._blocks.small_starts():
            by_number[number].unmerged_from = start
        for stream in by_number.values():
            stream.complete_from = stream.last_stored + 1
        return max((segment_of(stream.flushed) for stream in by_number.values()), default=0)

    def _insert(self, rows: WalRows) -> None:
        stream = self._open(rows.stream)
        if rows.positions[-1] < stream.flushed:
            return
        if rows.positions[0] < stream.flushed:
            first = int(np.searchsorted(rows.positions, stream.flushed))
            rows = rows._replace(
                positions=rows.positions[first:], times=rows.times[first:], values=rows.values[first:]
            )
        self._index.add_schema(stream, rows.layout.schema)
        self._rollups.invalidate_late_rows(rows.stream, rows.times, rows.positions)
        try:
            stream.insert_many(rows, self._blocks)
        except CorruptionError:
            for one in _split_rows(rows):
                self._insert_one(stream, one)

    def _insert_one(self, stream: Stream, row: WalRows) -> None:
        try:
            stream.insert_many(row, self._blocks)
        except CorruptionError as error:
            time = int(row.times[0])
            self._unreadable.append(f"a late frame of {dict(stream.name.target)} at {time} is lost: {error}")

    def _delete(self, position: int, record: WalDeletion) -> None:
        # What was flushed after the deletion was also appended after it.
        streams = [stream for target in record.targets for stream in self._index.streams_of(target)]
        deleted = [stream for stream in streams if stream.flushed <= position]
        rollup_targets = [target for target in record.targets if not self._index.streams_of(target)]
        self._remove(deleted, [*(stream.name.target for stream in deleted), *rollup_targets])


def order_rows(some: Iterable[WalRows]) -> Iterator[WalRows]:
    """Yield the rows of each stream in log order, in as few parts as possible."""
    streams: dict[StreamName, list[WalRows]] = {}
    for rows in some:
        streams.setdefault(rows.stream, []).append(rows)
    for parts in streams.values():
        yield from parts if len(parts) == 1 else _interleave(parts)


def _interleave(parts: Sequence[WalRows]) -> Iterator[WalRows]:
    positions = np.concatenate([rows.positions for rows in parts])
    order = np.argsort(positions, kind="stable")
    if len({rows.layout for rows in parts}) == 1:
        times = np.concatenate([rows.times for rows in parts])
        values = np.concatenate([rows.values for rows in parts])
        yield parts[0]._replace(positions=positions[order], times=times[order], values=values[order])
        return
    singles = [one for rows in parts for one in _split_rows(rows)]
    yield from (singles[i] for i in order.tolist())


def _split_rows(rows: WalRows) -> list[WalRows]:
    return [
        rows._replace(
            positions=rows.positions[i : i + 1], times=rows.times[i : i + 1], values=rows.values[i : i + 1]
        )
        for i in range(len(rows.times))
    ]
