"""Which series an aggregation puts together, and what the result is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from promql_parser import AggModifier, AggModifierType

from vigie.query.storage import Labels
from vigie.query.vectors import NAME, Indices


class Grouping(NamedTuple):
    """Rows sorted by group: group i holds order[starts[i]:starts[i + 1]] and is called labels[i]."""

    labels: list[Labels]
    order: Indices
    starts: Indices

    def members(self) -> list[Indices]:
        """Return the rows of each group."""
        return np.split(self.order, self.starts[1:]) if self.labels else []


def grouped(series: Sequence[Labels], modifier: AggModifier | None) -> Grouping:
    """Return the groups that `by` or `without` make; without either there is one."""
    numbers: dict[object, int] = {}
    labels: list[Labels] = []
    of_row = np.empty(len(series), dtype=np.intp)
    for row, (key, each) in enumerate(zip(_keys(series, modifier), series, strict=True)):
        number = numbers.setdefault(key, len(numbers))
        if number == len(labels):
            labels.append(_kept(each, modifier))
        of_row[row] = number
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(len(labels)))
    return Grouping(labels, order, starts)


def _keys(series: Sequence[Labels], modifier: AggModifier | None) -> list[object]:
    if modifier is None:
        return [()] * len(series)
    if modifier.type == AggModifierType.By:
        return [tuple([labels.get(name, "") for name in modifier.labels]) for labels in series]
    dropped = {*modifier.labels, NAME}
    return [frozenset(pair for pair in labels.items() if pair[0] not in dropped) for labels in series]


def _kept(labels: Labels, modifier: AggModifier | None) -> Labels:
    if modifier is None:
        return {}
    if modifier.type == AggModifierType.By:
        return {name: labels[name] for name in modifier.labels if labels.get(name)}
    dropped = {*modifier.labels, NAME}
    return {name: value for name, value in labels.items() if name not in dropped}
