"""Turns the tables of frames into layouts, once a version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vigie.model import Table
from vigie.store.codec import Floats
from vigie.store.errors import Refused
from vigie.store.layout import Columns, Layout, Layouts, key_of


class Shape(NamedTuple):
    """A table's layout, and which of its values are kept where two series became one."""

    table: Table
    layout: Layout
    kept: Columns | None

    def row(self, values: Sequence[float]) -> Floats:
        """Return the values as a row of the layout, bit for bit."""
        if len(values) != len(self.table.series):
            wanted = len(self.table.series)
            raise Refused(f"table {self.table.source} has {wanted} series, but {len(values)} values came")
        row = np.array(values, dtype=np.float64)
        return row if self.kept is None else row[self.kept]


def shape_of(layouts: Layouts, table: Table, taken: Mapping[str, str]) -> Shape:
    """Return the shape of a table whose target has these labels."""
    first: dict[tuple[tuple[str, str], ...], int] = {}
    for i, (metric, values) in enumerate(table.series):
        if len(metric.labels) != len(values):
            raise Refused(f"{metric.name} has labels {metric.labels}, but was given {values}")
        first.setdefault(key_of(metric, values, taken), i)
    kept = None if len(first) == len(table.series) else np.array(list(first.values()), dtype=np.intp)
    return Shape(table, layouts.of(tuple(first)), kept)
