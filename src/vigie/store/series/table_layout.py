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
from vigie.store.series.layout import NAME, Columns, Key, Layout, Layouts, series_key


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

    def of(
        self, table: Table, target_labels: Mapping[str, str], previous: TableLayout | None = None
    ) -> TableLayout:
        """Return the layout of a table for a target with these labels, given that of the previous version."""
        key = (table.series, frozenset(target_labels))
        layout = self._known.get(key)
        if layout is not None:
            return TableLayout(table, layout, None)
        layout_of_table = build_table_layout(self._layouts, table, target_labels, previous)
        if layout_of_table.kept is None:
            self._known[key] = layout_of_table.layout
        return layout_of_table


def build_table_layout(
    layouts: Layouts, table: Table, target_labels: Mapping[str, str], previous: TableLayout | None = None
) -> TableLayout:
    """Build the layout of a table, reusing the keys of the previous version."""
    known = {} if previous is None or previous.kept is not None else previous.keys()
    new = [one for one in table.series if one not in known]
    new_keys = dict(zip(new, _keys(new, target_labels), strict=True))
    _check(new_keys.values())
    keys, first = {**known, **new_keys}, dict[Key, int]()
    for i, one in enumerate(table.series):
        first.setdefault(keys[one], i)
    kept = None if len(first) == len(table.series) else np.array(list(first.values()), dtype=np.intp)
    return TableLayout(table, layouts.of(tuple(first)), kept)


def _keys(some: Iterable[Series], target_labels: Mapping[str, str]) -> Iterator[Key]:
    orders: dict[int, list[tuple[str, int]]] = {}
    for metric, values in some:
        if len(metric.labels) != len(values):
            raise InvalidInputError(f"{metric.name} has labels {metric.labels}, but was given {values}")
        order = orders.get(id(metric))
        if order is None:
            order = orders[id(metric)] = _order(metric, target_labels)
        if order:
            texts = (*values, metric.name)
            yield tuple([(name, text) for name, at in order if (text := texts[at])])
        else:
            yield series_key(metric, values, target_labels)


def _order(metric: Metric, target_labels: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the sorted label names of a metric with their positions; empty if that is not the whole key."""
    names = (*metric.labels, NAME)
    if len(set(names)) < len(names) or not target_labels.keys().isdisjoint(names):
        return []
    return sorted((name, at) for at, name in enumerate(names))


def _check(keys: Iterable[Key]) -> None:
    """Reject labels that cannot be encoded."""
    try:
        "".join([text for key in keys for pair in key for text in pair]).encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"a label with {error.object[error.start]!r} is not valid Unicode") from None
