"""Which series are in the columns of a matrix, and which columns match a selector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from vigie.model import Metric
from vigie.store.errors import InvalidInputError
from vigie.store.series.matcher import CompiledMatcher
from vigie.store.series.schema import NAME as NAME
from vigie.store.series.schema import Schema, extend_schema

MAX_MATCHES = 32  # selectors cached per layout: dashboards repeat them


Columns = NDArray[np.intp]
Target = tuple[tuple[str, str], ...]
Key = tuple[tuple[str, str], ...]  # a series without its target's labels: sorted pairs, including the name
COLUMN_GROUP_SIZE = 32  # at least: more columns compress a little better, fewer are decompressed faster
_T = TypeVar("_T")
_FIRST = itemgetter(0)


class Layout:
    """An ordered set of series; interned, so that similar nodes share it."""

    def __init__(self, series: tuple[Key, ...]) -> None:
        self.series = series
        self.matches: dict[tuple[CompiledMatcher, ...], LayoutMatch] = {}  # by selector
        self._label_codes: dict[str, tuple[list[str], NDArray[np.int32]]] = {}

    def __len__(self) -> int:
        return len(self.series)

    @cached_property
    def column(self) -> dict[Key, int]:
        return {key: i for i, key in enumerate(self.series)}

    @cached_property
    def names(self) -> list[str]:
        """Return the metric name of each column."""
        return [_value(key, NAME) for key in self.series]

    @cached_property
    def metric_order(self) -> Columns:
        """Return the order of columns sorted by metric."""
        return np.array(sorted(range(len(self)), key=self.names.__getitem__), dtype=np.intp)

    @cached_property
    def column_groups(self) -> list[tuple[int, int]]:
        """Return the columns of an ordered layout that are compressed together, as (first, stop).

        A group has whole metrics, and at least COLUMN_GROUP_SIZE columns.
        """
        column_groups: list[tuple[int, int]] = []
        first = 0
        for stop in range(1, len(self)):
            if stop - first >= COLUMN_GROUP_SIZE and self.names[stop] != self.names[stop - 1]:
                column_groups.append((first, stop))
                first = stop
        if first < len(self):
            column_groups.append((first, len(self)))
        return column_groups

    def prepare(self) -> None:
        """Compute what the first query would need."""
        self.label_codes(NAME)
        self.column_groups  # noqa: B018 - fills the cache

    def match(self, conditions: Sequence[CompiledMatcher]) -> Columns:
        """Return the columns whose series meet all conditions."""
        matches = None
        for condition in conditions:
            values, codes = self.label_codes(condition.label)
            if condition.exactly is not None:
                some = codes == (values.index(condition.exactly) if condition.exactly in values else -1)
            else:
                some = np.array([condition.test(value) for value in values], dtype=np.bool_)[codes]
            matches = some if matches is None else matches & some
        return np.arange(len(self)) if matches is None else np.flatnonzero(matches)

    def values_of(self, label: str, columns: Columns) -> set[str]:
        """Return the distinct values of a label in these columns."""
        values, codes = self.label_codes(label)
        if len(columns) == len(self):
            return set(values) - {""}
        return {values[code] for code in np.unique(codes[columns]).tolist()} - {""}

    def names_of_labels(self, columns: Columns) -> set[str]:
        """Return the label names that occur in these columns."""
        if len(columns) == len(self):
            return set(self.label_names)
        return {name for name in self.label_names if self.values_of(name, columns)}

    @cached_property
    def label_names(self) -> frozenset[str]:
        return frozenset().union(*{tuple(map(_FIRST, key)) for key in self.series})

    @cached_property
    def schema(self) -> Schema:
        """Return the metric and label names, without label values."""
        shapes = dict.fromkeys(
            [
                (name, next(zip(*key, strict=True), ()))
                for name, key in zip(self.names, self.series, strict=True)
            ]
        )
        names: dict[str, frozenset[str]] = {}
        for name, labels in shapes:
            names[name] = names.get(name, frozenset()).union(labels)
        return extend_schema(names)

    def label_codes(self, label: str) -> tuple[list[str], NDArray[np.int32]]:
        """Return the distinct values of a label, the empty one included, and each column's index."""
        if label != NAME and label not in self.label_names:  # labels only known to a query are not cached
            return [""], np.zeros(len(self), dtype=np.int32)
        label_codes = self._label_codes.get(label)
        if label_codes is None:
            numbers: dict[str, int] = {}
            values = self.names if label == NAME else [_value(key, label) for key in self.series]
            codes = [numbers.setdefault(value, len(numbers)) for value in values]
            label_codes = self._label_codes[label] = (list(numbers), np.array(codes, dtype=np.int32))
        return label_codes


class Layouts:
    """Interns layouts as long as they are referenced."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[Key, ...], Layout] = WeakValueDictionary()
        self._ordered: WeakKeyDictionary[Layout, Layout] = WeakKeyDictionary()

    def of(self, series: tuple[Key, ...]) -> Layout:
        layout = self._known.get(series)
        if layout is None:
            layout = self._known[series] = Layout(series)
        return layout

    def order_by_metric(self, layout: Layout) -> Layout:
        """Return the layout with the same series, sorted by metric."""
        ordered = self._ordered.get(layout)
        if ordered is None:
            order = layout.metric_order.tolist()
            ordered = self.of(tuple([layout.series[i] for i in order]))
            ordered.names = [layout.names[i] for i in order]
            if ordered is not layout:  # a layout must not reference itself, or it would never be freed
                self._ordered[layout] = ordered
        return ordered

    def extend_layout(self, layout: Layout, series: Iterable[Key]) -> Layout:
        """Return a layout with new series appended."""
        new = unique(key for key in series if key not in layout.column)
        if not new:
            return layout
        wider = self.of(layout.series + new)
        wider.column = layout.column | {key: i for i, key in enumerate(new, len(layout))}
        return wider

    def union(self, layouts: Iterable[Layout]) -> Layout:
        distinct = unique(layouts)
        if len(distinct) == 1:
            return distinct[0]
        return self.of(unique(key for layout in distinct for key in layout.series))


def is_too_wide(layouts: Layouts, some: Sequence[Layout], times: float) -> bool:
    """Report whether the union of layouts is much wider than each of them, because series churn."""
    return len(layouts.union(some)) > times * max(map(len, some)) + 64


def _value(key: Key, label: str) -> str:
    for name, value in key:
        if name == label:
            return value
    return ""


def series_key(metric: Metric, values: Sequence[str], target_labels: Mapping[str, str]) -> Key:
    """Return a series' key; a label that the target has too becomes exported_*, an empty one is dropped."""
    labels = dict(zip(metric.labels, values, strict=True))
    return label_key({**labels, NAME: metric.name}, target_labels)


def label_key(labels: Mapping[str, str], target_labels: Mapping[str, str]) -> Key:
    """Return the key of a label set, relative to a target's labels."""
    own = {name: value for name, value in labels.items() if value and name not in target_labels}
    for name in sorted(set(labels) & set(target_labels)):
        exported = "exported_" + name
        while exported in own or exported in target_labels:
            exported = "exported_" + exported
        if labels[name]:
            own[exported] = labels[name]
    key = tuple(sorted(own.items()))
    try:
        "".join(text for pair in key for text in pair).encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"a label of {key!r} is not valid Unicode") from None
    return key


def unique(items: Iterable[_T]) -> tuple[_T, ...]:
    """Return the distinct items, in order."""
    return tuple(dict.fromkeys(items))


class ColumnCut(NamedTuple):
    """The columns to read of one column group; None for all."""

    group: int
    height: int
    wanted: Columns | None


def split_columns(layout: Layout, columns: Columns) -> list[ColumnCut]:
    """Split columns of an ordered layout by column group."""
    cuts, column_groups = [], layout.column_groups
    edges = columns.searchsorted(
        [start for start, _ in column_groups] + [stop for _, stop in column_groups[-1:]]
    ).tolist()
    for group, (at, till) in enumerate(pairwise(edges)):
        if at < till:
            start, stop = column_groups[group]
            whole = till - at == stop - start
            cuts.append(ColumnCut(group, stop - start, None if whole else columns[at:till] - start))
    return cuts


class LayoutMatch:
    def __init__(self, layout: Layout, conditions: tuple[CompiledMatcher, ...]) -> None:
        self._series = layout.series
        self.columns: Columns = layout.match(conditions)
        self._cuts: list[ColumnCut] | None = None

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """Return the series in these columns."""
        return tuple([self._series[i] for i in self.columns.tolist()])

    def cuts(self, layout: Layout) -> list[ColumnCut]:
        """Return the columns by group; the layout must be ordered."""
        if self._cuts is None:
            self._cuts = split_columns(layout, self.columns)
        return self._cuts


def match_layout(layout: Layout, conditions: tuple[CompiledMatcher, ...]) -> LayoutMatch:
    """Return the columns of a layout that meet the conditions, cached."""
    matches = layout.matches.get(conditions)
    if matches is None:
        if len(layout.matches) >= MAX_MATCHES:
            layout.matches = {}  # replaced, not cleared: other threads may be reading it
        matches = layout.matches[conditions] = LayoutMatch(layout, conditions)
    return matches
