"""Aggregates an evaluated vector, or its parts as they arrive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from promql_parser import AggregateExpr

from vigie.query.aggregation.grouping import MOST_KINDS, Grouper, Grouping, group_rows
from vigie.query.aggregation.partial_aggregates import CACHED, FOLDS, Fold, State
from vigie.query.aggregation.ranking import CHOOSERS, Spend, count_values
from vigie.query.arrays import Flags, Floats, Indices
from vigie.query.block_batches import batches
from vigie.query.errors import ExecutionError
from vigie.query.functions.quantiles import quantile
from vigie.query.storage import Labels
from vigie.query.vectors import Key, Value, Vector, empty, key_of

Kept = State | Vector  # a vector while every series is a group of its own


class PartialAggregation(NamedTuple):
    """The state of an aggregation for one part of its vector."""

    labels: Sequence[Labels]
    kept: Kept


def aggregate(expression: AggregateExpr, vector: Vector, parameter: Value | None, spend: Spend) -> Vector:
    """Aggregate an evaluated vector; `spend` counts the samples that are created."""
    operator = str(expression.op)
    steps = vector.values.shape[1]
    if operator in FOLDS:
        return merge(FOLDS[operator], [start(FOLDS[operator], vector, Grouper(expression.modifier))], steps)
    if operator == "count_values":
        assert isinstance(parameter, str)
        return count_values(vector, parameter, expression.modifier, spend)
    assert isinstance(parameter, np.ndarray)
    groups = group_rows(vector.labels, expression.modifier)
    if operator in CHOOSERS:
        return CHOOSERS[operator](vector, groups, parameter)
    if operator == "quantile":
        with np.errstate(all="ignore"):
            return _quantiles(vector, groups, parameter)
    raise ExecutionError(f"aggregation {operator} is not supported")


def start(fold: Fold, vector: Vector, grouper: Grouper) -> PartialAggregation | None:
    """Aggregate one part; None if it has no series."""
    if not len(vector.labels):
        return None
    groups = grouper.of(vector.labels)
    if len(groups.labels) == len(vector.labels):
        return PartialAggregation(groups.labels, vector)
    with np.errstate(all="ignore"):
        return PartialAggregation(groups.labels, fold.begun(vector, groups))


def merge(fold: Fold, parts: Iterable[PartialAggregation | None], steps: int) -> Vector:
    whole, some = _Whole(fold), (part for part in parts if part is not None)
    first = next(some, None)
    if first is None:
        return empty(steps)
    with np.errstate(all="ignore"):
        second = next(some, None)
        if second is None:
            return Vector(first.labels, *_ended(fold, first.kept)).without_empty_rows()
        for part in chain((first, second), some):
            whole.add(part)
        return whole.ended()


class _Whole:
    """Merges parts one by one."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self._rows: dict[Key, int] = {}
        self._names: list[Labels] = []
        self._kept: list[Kept] = []  # consecutive pieces, in the order of the rows
        self._starts: list[int] = []  # first row of each piece
        # Rows of the groups of a part, by its label list: similar nodes share that list.
        self._known: dict[int, tuple[Sequence[Labels], Indices]] = {}

    def add(self, part: PartialAggregation) -> None:
        _, known = self._known.get(id(part.labels), (None, None))
        if known is not None:
            self._join(known, self._state(part.kept))
            return
        labels = list(part.labels)
        keys = [key_of(each) for each in labels]
        if self._rows.keys().isdisjoint(keys):
            rows = self._append(keys, labels, part.kept)
        else:
            rows = np.array([self._rows.get(key, -1) for key in keys], dtype=np.intp)
            old, new = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
            self._join(rows[old], tuple(each[old] for each in self._state(part.kept)))
            if len(new):
                some = new.tolist()
                kept = _rows(part.kept, new)
                rows[new] = self._append([keys[i] for i in some], [labels[i] for i in some], kept)
        if len(self._known) < MOST_KINDS:
            self._known[id(part.labels)] = part.labels, rows

    def _append(self, keys: Sequence[Key], labels: Sequence[Labels], kept: Kept) -> Indices:
        """Append new groups; return their rows."""
        first = len(self._rows)
        self._rows.update(zip(keys, range(first, first + len(keys)), strict=True))
        self._names += labels
        self._starts.append(first)
        self._kept.append(kept)
        return np.arange(first, first + len(keys))

    def ended(self) -> Vector:
        """Return the aggregation of all parts."""
        alone = [each for each in self._kept if isinstance(each, Vector)]
        if len(alone) == len(self._kept):
            values = self._fold.alone(np.concatenate([each.values for each in alone]))
            present = np.concatenate([each.present for each in alone])
        else:
            states = batches(map(self._state, self._kept), lambda state: state[0].size, CACHED)
            some = [_ended(self._fold, _together(each)) for each in states]
            values, present = (np.concatenate(column) for column in zip(*some, strict=True))
        return Vector(self._names, values, present).without_empty_rows()

    def _join(self, rows: Indices, part: State) -> None:
        piece = bisect_right(self._starts, int(rows.min())) - 1
        if bisect_right(self._starts, int(rows.max())) - 1 != piece:
            self._kept, self._starts, piece = [_together([*map(self._state, self._kept)])], [0], 0
        rows = rows - self._starts[piece]
        self._kept[piece] = self._joined(self._state(self._kept[piece]), rows, part)

    def _joined(self, state: State, rows: Indices, part: State) -> State:
        if len(rows) == len(state[0]) and (rows == np.arange(len(rows))).all():
            return self._fold.joined(state, part)
        made = self._fold.joined(tuple(each[rows] for each in state), part)
        own = tuple(each if each.flags.writeable else each.copy() for each in state)
        for each, new in zip(own, made, strict=True):
            each[rows] = new
        return own

    def _state(self, kept: Kept) -> State:
        if not isinstance(kept, Vector):
            return kept
        every = np.arange(len(kept.values))
        return self._fold.begun(kept, Grouping(kept.labels, every, every))


def _ended(fold: Fold, kept: Kept) -> tuple[Floats, Flags]:
    if isinstance(kept, Vector):
        return fold.alone(kept.values), kept.present
    return fold.ended(kept), kept[0] > 0


def _rows(kept: Kept, rows: Indices) -> Kept:
    return kept.rows(rows) if isinstance(kept, Vector) else tuple(each[rows] for each in kept)


def _together(states: list[State]) -> State:
    if len(states) == 1:
        return states[0]
    return tuple(np.concatenate(column) for column in zip(*states, strict=True))


def _quantiles(vector: Vector, groups: Grouping, wanted: Floats) -> Vector:
    shape = len(groups.labels), vector.values.shape[1]
    values, present = np.empty(shape), np.empty(shape, dtype=np.bool_)
    for row, members in enumerate(groups.members()):
        filled: Flags = vector.present[members].T
        values[row] = quantile(wanted, vector.values[members].T, filled)
        present[row] = filled.any(axis=1)
    return Vector(groups.labels, values, present).without_empty_rows()
