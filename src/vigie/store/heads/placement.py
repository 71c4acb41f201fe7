"""Maps the tables of a frame to streams, cached while the same tables arrive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from vigie.model import Table
from vigie.store.compression.codec import Floats
from vigie.store.heads.stream import Stream
from vigie.store.series.table_layout import TableLayout
from vigie.store.wal.records import RowSet

Target = tuple[tuple[str, str], ...]
Parts = Sequence[tuple[Table, Sequence[float]]]


class Placement:
    """The streams of some tables; of tables with the same source, the first is used."""

    def __init__(self, found: Sequence[tuple[Stream, TableLayout]]) -> None:
        self._table_refs = [
            table_layout.table for _, table_layout in found
        ]  # referenced, so that their ids stay unique
        self._tables = {table.source: table for table in self._table_refs}
        positions: dict[Stream, int] = {}
        for i, (stream, _) in enumerate(found):
            positions.setdefault(stream, i)
        self.streams = list(positions)
        self._positions = list(positions.values())
        self._table_layouts = [found[i][1] for i in self._positions]
        self.layouts = [table_layout.layout for table_layout in self._table_layouts]
        names = [stream.name for stream in self.streams]
        self.row_set = RowSet(list(zip(names, self.layouts, strict=True)), recurs=True)
        self._edges = list(pairwise(accumulate(map(len, self.layouts), initial=0)))

    def is_older(self, placement: Placement) -> bool:
        """Report whether another placement has another version of one of the tables."""
        return any(
            placement._tables.get(source, table) is not table for source, table in self._tables.items()
        )

    def values(self, parts: Parts) -> Floats:
        """Return the values of a frame as one array, bit for bit."""
        rows = [
            table_layout.row(parts[i][1])
            for i, table_layout in zip(self._positions, self._table_layouts, strict=True)
        ]
        return np.concatenate(rows) if len(rows) > 1 else rows[0]

    def rows(self, values: Floats) -> list[Floats]:
        return [values[start:stop] for start, stop in self._edges]


class PlacementCache:
    """A few per target: not every table is in every frame."""

    MAX_PLACEMENTS = 16  # per target

    def __init__(self) -> None:
        self._placements: dict[Target, dict[tuple[int, ...], Placement]] = {}

    def get(self, target: Target, parts: Parts) -> Placement | None:
        """Return the placement of exactly these tables."""
        placements = self._placements.get(target)
        return None if placements is None else placements.get(tuple([id(table) for table, _ in parts]))

    def add(self, target: Target, parts: Parts, placement: Placement) -> None:
        """Add a placement, and drop those with older versions of its tables."""
        placements = self._placements.get(target, {})
        fresh = {ids: other for ids, other in placements.items() if not other.is_older(placement)}
        fresh = {} if len(fresh) >= self.MAX_PLACEMENTS else fresh
        self._placements[target] = {**fresh, tuple([id(table) for table, _ in parts]): placement}

    def forget(self, target: Target) -> None:
        self._placements.pop(target, None)
