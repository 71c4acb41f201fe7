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
        self._held = [shape.table for _, shape in found]  # referenced, so that their ids stay unique
        self._tables = {table.source: table for table in self._held}
        places: dict[Stream, int] = {}
        for i, (stream, _) in enumerate(found):
            places.setdefault(stream, i)
        self.streams = list(places)
        self._places = list(places.values())
        self._shapes = [found[i][1] for i in self._places]
        self.layouts = [shape.layout for shape in self._shapes]
        names = [stream.name for stream in self.streams]
        self.form = RowSet(list(zip(names, self.layouts, strict=True)), recurs=True)
        self._edges = list(pairwise(accumulate(map(len, self.layouts), initial=0)))

    def is_older(self, route: Placement) -> bool:
        """Report whether another placement has another version of one of the tables."""
        return any(route._tables.get(source, table) is not table for source, table in self._tables.items())

    def values(self, parts: Parts) -> Floats:
        """Return the values of a frame as one array, bit for bit."""
        rows = [shape.row(parts[i][1]) for i, shape in zip(self._places, self._shapes, strict=True)]
        return np.concatenate(rows) if len(rows) > 1 else rows[0]

    def rows(self, values: Floats) -> list[Floats]:
        return [values[start:stop] for start, stop in self._edges]


class PlacementCache:
    """A few per target: not every table is in every frame."""

    MOST = 16  # per target

    def __init__(self) -> None:
        self._known: dict[Target, dict[tuple[int, ...], Placement]] = {}

    def get(self, target: Target, parts: Parts) -> Placement | None:
        """Return the placement of exactly these tables."""
        known = self._known.get(target)
        return None if known is None else known.get(tuple([id(table) for table, _ in parts]))

    def add(self, target: Target, parts: Parts, route: Placement) -> None:
        """Add a placement, and drop those with older versions of its tables."""
        known = self._known.get(target, {})
        fresh = {numbers: other for numbers, other in known.items() if not other.is_older(route)}
        fresh = {} if len(fresh) >= self.MOST else fresh
        self._known[target] = {**fresh, tuple([id(table) for table, _ in parts]): route}

    def forget(self, target: Target) -> None:
        self._known.pop(target, None)
