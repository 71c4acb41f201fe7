"""Converts tables of frames to layouts, once per version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from vigie.model import Metric, Table
from vigie.model.table import Series
from vigie.store.errors import InvalidInputError
from vigie.store.series.layout import NAME, Columns, Key, Layout, Layouts, key_of


class TableLayout(NamedTuple):
    """A table's layout, and which of its values to store if two series have the same key."""

    table: Table
    layout: Layout
    kept: Columns | None

    def keys(self) -> dict[Series, Key]:
        """Return the key of each series of a table without duplicates."""
        return dict(zip(self.table.series, self.layout.series, strict=True))

    def row(self, values: Sequence[float]) -> NDArray[np.float64]:
        """Return the values as a row of the layout, bit for bit."""
        if len(values) != len(self.table.series):
            wanted = len(self.table.series)
            raise InvalidInputError(
                f"table {self.table.source} has {wanted} series, but {len(values)} values came"
            )
        row = np.array(values, dtype=np.float64)
        return row if self.kept is None else row[self.kept]


class TableLayouts:
    """Finds the layout of a table; similar nodes share it."""

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts
        self._known: WeakValueDictionary[tuple[tuple[Series, ...], frozenset[str]], Layout]
        self._known = WeakValueDictionary()

    def of(self, table: Table, taken: Mapping[str, str], before: TableLayout | None = None) -> TableLayout:
        """Return the layout of a table for a target with these labels, given that of the previous version."""
        key = (table.series, frozenset(taken))
        layout = self._known.get(key)
        if layout is not None:
            return TableLayout(table, layout, None)
        shape = table_layout(self._layouts, table, taken, before)
        if shape.kept is None:
            self._known[key] = shape.layout
        return shape


def table_layout(
    layouts: Layouts, table: Table, taken: Mapping[str, str], before: TableLayout | None = None
) -> TableLayout:
    """Build the layout of a table, reusing the keys of the previous version."""
    known = {} if before is None or before.kept is not None else before.keys()
    new = [one for one in table.series if one not in known]
    made = dict(zip(new, _keys(new, taken), strict=True))
    _check(made.values())
    keys, first = {**known, **made}, dict[Key, int]()
    for i, one in enumerate(table.series):
        first.setdefault(keys[one], i)
    kept = None if len(first) == len(table.series) else np.array(list(first.values()), dtype=np.intp)
    return TableLayout(table, layouts.of(tuple(first)), kept)


def _keys(some: Iterable[Series], taken: Mapping[str, str]) -> Iterator[Key]:
    orders: dict[int, list[tuple[str, int]]] = {}
    for metric, values in some:
        if len(metric.labels) != len(values):
            raise InvalidInputError(f"{metric.name} has labels {metric.labels}, but was given {values}")
        order = orders.get(id(metric))
        if order is None:
            order = orders[id(metric)] = _order(metric, taken)
        if order:
            texts = (*values, metric.name)
            yield tuple([(name, text) for name, at in order if (text := texts[at])])
        else:
            yield key_of(metric, values, taken)


def _order(metric: Metric, taken: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the sorted label names of a metric with their positions; empty if that is not the whole key."""
    names = (*metric.labels, NAME)
    if len(set(names)) < len(names) or not taken.keys().isdisjoint(names):
        return []
    return sorted((name, at) for at, name in enumerate(names))


def _check(keys: Iterable[Key]) -> None:
    """Reject labels that cannot be encoded."""
    try:
        "".join([text for key in keys for pair in key for text in pair]).encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"a label with {error.object[error.start]!r} is not valid Unicode") from None
