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
        gauge: SpaceMonitor,
    ) -> None:
        self._open, self._index, self._blocks = open_stream, index, blocks
        self._rollups, self._log, self._gauge = rollups, log, gauge
        self._known = TableLayouts(layouts)
        self._shapes: dict[Stream, TableLayout] = {}
        self._routes = PlacementCache()

    def append(self, target: Target, frame: Frame) -> None:
        """Append a frame of a target; values already stored for this time are not replaced."""
        route = self._route(target, frame.parts)
        time, values = frame.time_ms, route.values(frame.parts)
        rows = route.rows(values)
        if any(stream.end >= time for stream in route.streams):
            self._append_late(route, time, rows)
            return
        self._gauge.check()
        position = self._log.rows(WalBatch(route.form, [time] * len(rows), values))
        sparse = bool(absent(values).any())
        for stream, layout, row in zip(route.streams, route.layouts, rows, strict=True):
            if stream.push(layout, time, row, sparse=sparse):
                self._rollups.note_row(stream, time)
            else:
                self._put(stream, layout, time, row, position)

    def take(self, rows: Sequence[tuple[Stream, WalRow]]) -> None:
        if not rows:
            return
        self._gauge.check()
        position = self._log.rows(WalBatch.of([row for _, row in rows]))
        lost: CorruptionError | None = None
        for stream, row in rows:
            try:
                self._put(stream, row.layout, row.time, row.values, position)
            except CorruptionError as error:  # this row is lost, not the others of the batch
                lost = CorruptionError(
                    f"a late frame of {dict(stream.name.target)} at {row.time} is lost: {error}"
                )
                stream.damages.add(f"late frames of {dict(stream.name.target)} are lost: {error}")
        if lost is not None:
            raise lost

    def layout(self, stream: Stream) -> Layout | None:
        """Return the layout of the newest table of a stream, None before the first one."""
        shape = self._shapes.get(stream)
        return None if shape is None else shape.layout

    def forget(self, stream: Stream) -> None:
        self._shapes.pop(stream, None)
        self._routes.forget(stream.name.target)

    def _route(self, target: Target, parts: Parts) -> Placement:
        route = self._routes.get(target, parts)
        if route is None:
            route = Placement([self._shape(target, table) for table, _ in parts])
            self._routes.add(target, parts, route)
        return route

    def _shape(self, target: Target, table: Table) -> tuple[Stream, TableLayout]:
        stream = self._open(StreamName(target, table.source, framed=True))
        shape = self._shapes.get(stream)
        if shape is None or shape.table is not table:
            if shape is None or shape.table != table:
                shape = self._known.of(table, dict(target), shape)
            shape = self._shapes[stream] = shape._replace(table=table)
        return stream, shape

    def _append_late(self, route: Placement, time: int, rows: Sequence[Floats]) -> None:
        some = zip(route.streams, route.layouts, rows, strict=True)
        free = [
            (stream, WalRow(stream.name, layout, time, row))
            for stream, layout, row in some
            if not self._holds(stream, time)
        ]
        self.take(free)

    def _holds(self, stream: Stream, time: int) -> bool:
        try:
            return stream.holds(time, self._blocks)
        except CorruptionError:
            return False  # reported when the row is inserted

    def _put(self, stream: Stream, layout: Layout, time: int, row: Floats, position: int) -> None:
        stream.put(layout, time, row, position, self._blocks)
        self._index.note(stream, layout.outline)
        self._rollups.note_row(stream, time)
