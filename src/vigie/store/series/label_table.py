"""The label sets of a stream's columns, built on demand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from vigie.query.label_table import Codes, LabelTable
from vigie.query.storage import Labels
from vigie.store.series.layout import Columns, Layout


class StoredLabelTable(LabelTable):
    """Labels of a target and of some columns of a layout, without dropped ones."""

    def __init__(
        self,
        target: Mapping[str, str],
        layout: Layout,
        columns: Columns,
        dropped: frozenset[str] = frozenset(),
    ) -> None:
        self._target, self._layout, self._columns, self._dropped = target, layout, columns, dropped

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Labels]:
        target = {name: value for name, value in self._target.items() if name not in self._dropped}
        own, series = self._dropped - self._target.keys(), self._layout.series
        for column in self._columns.tolist():
            labels = target.copy()
            labels.update(series[column])
            for name in own:
                labels.pop(name, None)
            yield labels

    def row(self, place: int) -> Labels:
        labels = dict(self._target)
        labels.update(self._layout.series[self._columns[place]])
        for name in self._dropped:
            labels.pop(name, None)
        return labels

    def take(self, rows: Columns) -> StoredLabelTable:
        return StoredLabelTable(self._target, self._layout, self._columns[rows], self._dropped)

    def without(self, names: Iterable[str]) -> StoredLabelTable:
        return StoredLabelTable(self._target, self._layout, self._columns, self._dropped.union(names))

    def names(self) -> set[str]:
        return (self._target.keys() | self._layout.label_names) - self._dropped

    def sharing_key(self, names: Iterable[str]) -> Hashable:
        own = tuple((name, self._target[name]) for name in names if name in self._target)
        # Similar nodes share the layout, and within a query the columns of its plan.
        return self._layout, _Identity(self._columns), self._dropped, own

    def column(self, name: str) -> tuple[Sequence[str], Codes | None]:
        if name in self._dropped:
            return ("",), None
        if name in self._target:
            return (self._target[name],), None
        if name not in self._layout.label_names:
            return ("",), None
        values, codes = self._layout.label_codes(name)
        return values, codes[self._columns].astype(np.intp, copy=False)


class _Identity:
    """Compares by identity, and keeps the object alive so that its id stays unique."""

    def __init__(self, object_: object) -> None:
        self._object = object_

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other._object is self._object

    def __hash__(self) -> int:
        return id(self._object)
