"""The newest rows of a stream, uncompressed: one row per time, one column per series."""

from __future__ import annotations

import numpy as np

from vigie.store.compression.codec import Floats, Times, absent, absent_matrix
from vigie.store.series.layout import Columns, Layout, Layouts

FIRST_ROWS = 8


class Head:
    """Gets new columns when series appear; series that ended are dropped when it is closed."""

    def __init__(self, layout: Layout, since: int) -> None:
        self.layout = layout
        self.rows = 0
        self.start = self.end = 0  # the times of the first and the last row
        self.since = since  # log position of the oldest row that is in no block
        self.replaces: list[int] = []  # chunks on disk whose rows were moved into this head
        self.number = 0  # a head is in no block
        self.changes = 0
        self.seen = -1  # `changes` at the last check
        self.sparse = False
        self.limit = 0  # rows before it is closed
        self._times = np.empty(FIRST_ROWS, dtype=np.int64)
        self._values = absent_matrix(FIRST_ROWS, len(layout))
        self._source: Layout = layout
        self._columns: Columns | None = None

    @classmethod
    def from_rows(cls, layout: Layout, times: Times, values: Floats, since: int) -> Head:
        head = cls(layout, since)
        head.rows, head._times, head._values = len(times), times, values
        head.start, head.end = int(times[0]), int(times[-1])
        head.sparse = bool(absent(values).any())
        return head

    def copy(self) -> Head:
        """Return a copy that appends do not change."""
        return Head.from_rows(self.layout, self.times.copy(), self.values.copy(), self.since)

    @property
    def times(self) -> Times:
        return self._times[: self.rows]

    @property
    def values(self) -> Floats:
        return self._values[: self.rows]

    def read(self, columns: Columns, first: int, last: int) -> tuple[Floats, bool]:
        """Return one row per column, and whether a cell may be absent."""
        if len(columns) and columns[-1] - columns[0] + 1 == len(columns):  # contiguous
            return self._values[first:last, columns[0] : columns[-1] + 1].T.copy(), self.sparse
        return self._values[first:last, columns].T, self.sparse

    def try_append(self, layout: Layout, time: int, row: Floats, *, sparse: bool) -> bool:
        """Append a row of the same layout; return False if that needs more than a copy."""
        at = self.rows
        if at >= self.limit or layout is not self._source or self._columns is not None:
            return False
        if at == len(self._times):
            self._reserve(at + 1)
        self._times[at] = time
        self._values[at] = row
        if at == 0:
            self.start = time
        self.end = time
        self.rows = at + 1
        self.changes += 1
        if sparse and not self.sparse:
            self.sparse = bool(absent(row).any())
        return True

    def insert(self, layouts: Layouts, layout: Layout, time: int, row: Floats, since: int) -> bool:
        """Insert a row of any layout at its time; return whether its time was free."""
        at = self.rows if not self.rows or time > self.end else int(np.searchsorted(self.times, time))
        if at < self.rows and self._times[at] == time:
            return False
        columns = self._map_columns(layouts, layout)
        self.changes += 1
        self._make_row(at, time)
        if columns is None:
            self._values[at] = row
        else:
            self._values[at] = absent_matrix(1, len(self.layout))[0]
            self._values[at, columns] = row
        if not self.sparse:
            self.sparse = len(row) < len(self.layout) or bool(absent(row).any())
        self.since = min(self.since, since)
        return True

    def extend(self, layouts: Layouts, layout: Layout, times: Times, rows: Floats, since: int) -> None:
        columns = self._map_columns(layouts, layout)
        self.changes += 1
        self._reserve(self.rows + len(times))
        place = slice(self.rows, self.rows + len(times))
        self._times[place] = times
        if columns is None:
            self._values[place] = rows
        else:
            self._values[place, columns] = rows
        self.start = self.start if self.rows else int(times[0])
        self.end, self.rows = int(times[-1]), place.stop
        if not self.sparse:
            self.sparse = rows.shape[1] < len(self.layout) or bool(absent(rows).any())
        self.since = min(self.since, since)

    def fill(self, layouts: Layouts, layout: Layout, time: int, row: Floats, since: int) -> bool:
        """Insert a row, or fill the absent cells of the existing one; return whether a cell was filled."""
        if self.insert(layouts, layout, time, row, since):
            return True
        at = int(np.searchsorted(self.times, time))
        columns = self._map_columns(layouts, layout)
        self.changes += 1
        line = self._values[at]
        wanted = np.arange(len(line)) if columns is None else columns
        free = absent(line[wanted]) & ~absent(row)
        line[wanted[free]] = row[free]
        self.since = min(self.since, since)
        return bool(free.any())

    def _map_columns(self, layouts: Layouts, layout: Layout) -> Columns | None:
        """Return the columns of a layout's series, None for the same order; new series get a column."""
        if layout is not self._source:
            union = layouts.extend_layout(self.layout, layout.series)
            if union is not self.layout:
                self._widen(union)
            self._source = layout
            same = layout is self.layout
            self._columns = (
                None if same else np.array([union.column[key] for key in layout.series], dtype=np.intp)
            )
        return self._columns

    def _widen(self, union: Layout) -> None:
        wider = absent_matrix(len(self._times), len(union))
        wider[: self.rows, : len(self.layout)] = self.values
        self._values, self.layout = wider, union
        self.sparse = self.sparse or self.rows > 0

    def _make_row(self, at: int, time: int) -> None:
        self._reserve(self.rows + 1)
        if at < self.rows:
            self._times[at + 1 : self.rows + 1] = self._times[at : self.rows].copy()
            self._values[at + 1 : self.rows + 1] = self._values[at : self.rows].copy()
        self._times[at] = time
        self.start = time if at == 0 else self.start
        self.end = time if at == self.rows else self.end
        self.rows += 1

    def _reserve(self, rows: int) -> None:
        if rows > len(self._times):
            known = len(self._times)
            # Double the capacity, up to the head's limit.
            twice = min(known, self.limit - known) if self.limit > known else known
            more = max(FIRST_ROWS, twice, rows - known)
            self._times = np.concatenate([self._times, np.empty(more, dtype=np.int64)])
            self._values = np.concatenate([self._values, absent_matrix(more, len(self.layout))])
