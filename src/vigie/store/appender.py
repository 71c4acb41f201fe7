"""Appends rows: looks up the streams of each table, writes to the log first, then to memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vigie.model import Frame, Table
from vigie.store.blocks.block_store import BlockStore
from vigie.store.compression.codec import Floats, absent
from vigie.store.errors import CorruptionError
from vigie.store.filesystem import SpaceMonitor
from vigie.store.heads.index import Index
from vigie.store.heads.placement import Parts, Placement, PlacementCache
from vigie.store.heads.stream import Stream
from vigie.store.rollups.rollups import RollupStore
from vigie.store.series.layout import Layout, Layouts, Target
from vigie.store.series.table_layout import TableLayout, TableLayouts
from vigie.store.wal.records import StreamName, WalBatch, WalRow
from vigie.store.wal.wal import WriteAheadLog


class Appender:
    """Called with the store's lock held."""

    def __init__(
        self,
        layouts: Layouts,
        open_stream: Callable[[StreamName], Stream],
        index: Index,
        blocks: BlockStore,
        rollups: RollupStore,
        log: WriteAheadLog,
        space_monitor: SpaceMonitor,
    ) -> None:
        self._open, self._index, self._blocks = open_stream, index, blocks
        self._rollups, self._log, self._space_monitor = rollups, log, space_monitor
        self._layouts = TableLayouts(layouts)
        self._table_layouts: dict[Stream, TableLayout] = {}
        self._placements = PlacementCache()

    def append(self, target: Target, frame: Frame) -> None:
        """Append a frame of a target; values already stored for this time are not replaced."""
        placement = self._place(target, frame.parts)
        time, values = frame.time_ms, placement.values(frame.parts)
        rows = placement.rows(values)
        if any(stream.end >= time for stream in placement.streams):
            self._append_late(placement, time, rows)
            return
        self._space_monitor.check()
        position = self._log.append_rows(WalBatch(placement.row_set, [time] * len(rows), values))
        sparse = bool(absent(values).any())
        for stream, layout, row in zip(placement.streams, placement.layouts, rows, strict=True):
            if stream.try_append(layout, time, row, sparse=sparse):
                self._rollups.invalidate_if_late(stream, time)
            else:
                self._insert(stream, layout, time, row, position)

    def append_rows(self, rows: Sequence[tuple[Stream, WalRow]]) -> None:
        if not rows:
            return
        self._space_monitor.check()
        position = self._log.append_rows(WalBatch.of([row for _, row in rows]))
        failure: CorruptionError | None = None
        for stream, row in rows:
            try:
                self._insert(stream, row.layout, row.time, row.values, position)
            except CorruptionError as error:  # this row is lost, not the others of the batch
                failure = CorruptionError(
                    f"a late frame of {dict(stream.name.target)} at {row.time} is lost: {error}"
                )
                stream.corruption_log.add(f"late frames of {dict(stream.name.target)} are lost: {error}")
        if failure is not None:
            raise failure

    def layout(self, stream: Stream) -> Layout | None:
        """Return the layout of the newest table of a stream, None before the first one."""
        layout = self._table_layouts.get(stream)
        return None if layout is None else layout.layout

    def forget(self, stream: Stream) -> None:
        self._table_layouts.pop(stream, None)
        self._placements.forget(stream.name.target)

    def _place(self, target: Target, parts: Parts) -> Placement:
        placement = self._placements.get(target, parts)
        if placement is None:
            placement = Placement([self._table_layout(target, table) for table, _ in parts])
            self._placements.add(target, parts, placement)
        return placement

    def _table_layout(self, target: Target, table: Table) -> tuple[Stream, TableLayout]:
        stream = self._open(StreamName(target, table.source, framed=True))
        layout = self._table_layouts.get(stream)
        if layout is None or layout.table is not table:
            if layout is None or layout.table != table:
                layout = self._layouts.of(table, dict(target), layout)
            layout = self._table_layouts[stream] = layout._replace(table=table)
        return stream, layout

    def _append_late(self, placement: Placement, time: int, rows: Sequence[Floats]) -> None:
        parts = zip(placement.streams, placement.layouts, rows, strict=True)
        new_rows = [
            (stream, WalRow(stream.name, layout, time, row))
            for stream, layout, row in parts
            if not self._has_row(stream, time)
        ]
        self.append_rows(new_rows)

    def _has_row(self, stream: Stream, time: int) -> bool:
        try:
            return stream.has_row(time, self._blocks)
        except CorruptionError:
            return False  # reported when the row is inserted

    def _insert(self, stream: Stream, layout: Layout, time: int, row: Floats, position: int) -> None:
        stream.insert(layout, time, row, position, self._blocks)
        self._index.add_schema(stream, layout.schema)
        self._rollups.invalidate_if_late(stream, time)
