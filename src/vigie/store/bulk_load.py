"""Writes history straight into the blocks of a new directory, without log and heads."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from vigie.model import Table
from vigie.store.blocks.chunk import compress_chunk
from vigie.store.blocks.repair import open_or_repair
from vigie.store.compression.codec import THOROUGH, Floats, Times
from vigie.store.corruption import CorruptionLog
from vigie.store.directory_lock import DirectoryLock, check_format
from vigie.store.errors import InvalidInputError
from vigie.store.filesystem import refuse_remote
from vigie.store.heads.stream import HEAD_LIMITS, HeadLimits
from vigie.store.series.layout import Layouts
from vigie.store.series.table_layout import TableLayouts
from vigie.store.wal.records import StreamName


class BulkLoader:
    """Takes matrices of rows; a store can open the directory after `close`."""

    def __init__(self, directory: Path, head_limits: HeadLimits = HEAD_LIMITS) -> None:
        refuse_remote(directory)
        directory.mkdir(parents=True, exist_ok=True)
        self._head_limits = head_limits
        with ExitStack() as opened:
            opened.callback(DirectoryLock(directory).release)
            check_format(directory)
            self._layouts = Layouts()
            self._table_layouts = TableLayouts(self._layouts)
            if (directory / "blocks.sqlite").exists():
                raise InvalidInputError(
                    f"{directory} has data already; a past can be loaded only into a new one"
                )
            self._blocks = open_or_repair(
                directory / "blocks.sqlite", self._layouts, CorruptionLog(), head_limits.cached_series
            )
            opened.callback(self._blocks.close)
            self._opened = opened.pop_all()

    def __enter__(self) -> BulkLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    def load(self, labels: Mapping[str, str], table: Table, times: Times, values: Floats) -> None:
        """Write the rows of one table of a target, in time order and after those loaded before."""
        table_layout = self._table_layouts.of(table, labels)
        if table_layout.kept is not None:
            values = values[:, table_layout.kept]
        target = tuple(sorted((name, value) for name, value in labels.items() if value))
        with self._blocks.transaction():
            stream = self._blocks.upsert_stream(StreamName(target, table.source, framed=True), 0)
            at = 0
            while at < len(times):
                stop = int(times.searchsorted(times[at] + self._head_limits.block_ms))
                chunk = compress_chunk(
                    self._layouts, table_layout.layout, times[at:stop], values[at:stop], THOROUGH
                )
                self._blocks.write(stream, chunk, small=False)
                at = stop
