"""Groups the series of an aggregation, and labels the groups."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from promql_parser import AggModifier, AggModifierType

from vigie.query.arrays import Indices
from vigie.query.label_table import LabelTable, MatrixLabelTable
from vigie.query.storage import Labels
from vigie.query.vectors import NAME

MAX_CACHED_GROUPINGS = 1000
MAX_UNENCODED = 16  # series up to which building labels is faster than encoding columns


class Grouping(NamedTuple):
    """Rows sorted by group: group i holds order[starts[i]:starts[i + 1]] and has labels[i]."""

    labels: Sequence[Labels]
    order: Indices
    starts: Indices

    def members(self) -> list[Indices]:
        return np.split(self.order, self.starts[1:]) if len(self.labels) else []

    def sizes(self) -> Indices:
        return np.diff(np.append(self.starts, len(self.order)))

    def numbers(self) -> Indices:
        group_of_row = np.empty(len(self.order), dtype=np.intp)
        group_of_row[self.order] = np.repeat(np.arange(len(self.labels)), self.sizes())
        return group_of_row


class Grouper:
    """Groups the parts of one vector; nodes with the same series are grouped once."""

    def __init__(self, modifier: AggModifier | None) -> None:
        self._modifier = modifier
        self._known: dict[Hashable, Grouping] = {}

    def of(self, series: Sequence[Labels]) -> Grouping:
        if self._modifier is None or not isinstance(series, LabelTable):
            return group_rows(series, self._modifier)
        kind = series.sharing_key(_grouping_labels(series, self._modifier))
        groups = self._known.get(kind)
        if groups is None:
            groups = group_rows(series, self._modifier)
            if len(self._known) < MAX_CACHED_GROUPINGS:
                self._known[kind] = groups
        return groups


def group_rows(series: Sequence[Labels], modifier: AggModifier | None) -> Grouping:
    """Group by the labels of `by` or `without`; one group if there is neither."""
    if modifier is None:
        return Grouping([{}] if len(series) else [], np.arange(len(series)), np.zeros(1, dtype=np.intp))
    if isinstance(series, LabelTable) and len(series) > MAX_UNENCODED:
        return _group_by_columns(series, modifier)
    series = list(series)
    numbers: dict[object, int] = {}
    labels: list[Labels] = []
    group_of_row = np.empty(len(series), dtype=np.intp)
    for row, (key, each) in enumerate(zip(_group_keys(series, modifier), series, strict=True)):
        number = numbers.setdefault(key, len(numbers))
        if number == len(labels):
            labels.append(_group_labels(each, modifier))
        group_of_row[row] = number
    return _sort_rows(labels, group_of_row)


def _sort_rows(labels: Sequence[Labels], group_of_row: Indices) -> Grouping:
    if len(labels) == len(group_of_row):  # every series is its own group, in order
        return Grouping(labels, group_of_row, group_of_row.copy())
    order = np.argsort(group_of_row, kind="stable")
    starts = np.searchsorted(group_of_row[order], np.arange(len(labels)))
    return Grouping(labels, order, starts)


def _group_by_columns(series: LabelTable, modifier: AggModifier) -> Grouping:
    """Group by encoded columns, without building a label set per row."""
    columns = [series.column(name) for name in _grouping_labels(series, modifier)]
    varied = [(values, codes) for values, codes in columns if codes is not None]
    if not varied:  # such as all series of one node
        return Grouping(
            [_group_labels(series[0], modifier)], np.arange(len(series)), np.zeros(1, dtype=np.intp)
        )
    combined = np.zeros(len(series), dtype=np.intp)
    for values, codes in varied:
        # Renumbered each time, so that the product of many labels cannot overflow.
        combined = np.unique(combined * len(values) + codes, return_inverse=True)[1].ravel()
    _, firsts, group_of_row = np.unique(combined, return_index=True, return_inverse=True)
    appearance = np.argsort(firsts)
    rank = np.empty_like(appearance)
    rank[appearance] = np.arange(len(appearance))
    return _sort_rows(_label_groups(series.take(firsts[appearance]), modifier), rank[group_of_row.ravel()])


def _label_groups(firsts: LabelTable, modifier: AggModifier) -> Sequence[Labels]:
    """Return the labels of groups, given their first series."""
    if modifier.type == AggModifierType.By:
        return MatrixLabelTable({name: firsts.column(name) for name in modifier.labels}, len(firsts))
    return [_group_labels(labels, modifier) for labels in firsts]


def _grouping_labels(series: LabelTable, modifier: AggModifier) -> list[str]:
    if modifier.type == AggModifierType.By:
        return list(dict.fromkeys(modifier.labels))
    return sorted(series.names() - {*modifier.labels, NAME})


def _group_keys(series: Sequence[Labels], modifier: AggModifier) -> list[object]:
    if modifier.type == AggModifierType.By:
        return [tuple([labels.get(name, "") for name in modifier.labels]) for labels in series]
    dropped = {*modifier.labels, NAME}
    return [frozenset(pair for pair in labels.items() if pair[0] not in dropped) for labels in series]


def _group_labels(labels: Labels, modifier: AggModifier) -> Labels:
    if modifier.type == AggModifierType.By:
        return {name: labels[name] for name in modifier.labels if labels.get(name)}
    dropped = {*modifier.labels, NAME}
    return {name: value for name, value in labels.items() if name not in dropped}
