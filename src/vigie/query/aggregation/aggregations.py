"""Aggregates an evaluated vector, or its parts as they arrive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from promql_parser import AggregateExpr

from vigie.query.aggregation.grouping import MAX_CACHED_GROUPINGS, Grouper, Grouping, group_rows
from vigie.query.aggregation.partial_aggregates import FOLDS, MAX_CACHED_SIZE, Fold, State
from vigie.query.aggregation.ranking import SELECTING_OPERATORS, Spend, count_values
from vigie.query.arrays import Flags, Floats, Indices
from vigie.query.block_batches import split_batches
from vigie.query.errors import ExecutionError
from vigie.query.functions.quantiles import quantile
from vigie.query.storage import Labels
from vigie.query.vectors import Key, Value, Vector, empty_vector, label_set_key

PartialState = State | Vector  # a vector while every series is a group of its own


class PartialAggregation(NamedTuple):
    """The state of an aggregation for one part of its vector."""

    labels: Sequence[Labels]
    state: PartialState


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
    if operator in SELECTING_OPERATORS:
        return SELECTING_OPERATORS[operator](vector, groups, parameter)
    if operator == "quantile":
        with np.errstate(all="ignore"):
            return _aggregate_quantile(vector, groups, parameter)
    raise ExecutionError(f"aggregation {operator} is not supported")


def start(fold: Fold, vector: Vector, grouper: Grouper) -> PartialAggregation | None:
    """Aggregate one part; None if it has no series."""
    if not len(vector.labels):
        return None
    groups = grouper.of(vector.labels)
    if len(groups.labels) == len(vector.labels):
        return PartialAggregation(groups.labels, vector)
    with np.errstate(all="ignore"):
        return PartialAggregation(groups.labels, fold.start(vector, groups))


def merge(fold: Fold, parts: Iterable[PartialAggregation | None], steps: int) -> Vector:
    merger, some = _Merger(fold), (part for part in parts if part is not None)
    first = next(some, None)
    if first is None:
        return empty_vector(steps)
    with np.errstate(all="ignore"):
        second = next(some, None)
        if second is None:
            return Vector(first.labels, *_finish(fold, first.state)).without_empty_rows()
        for part in chain((first, second), some):
            merger.add(part)
        return merger.finish()


class _Merger:
    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self._rows: dict[Key, int] = {}
        self._names: list[Labels] = []
        self._states: list[PartialState] = []  # consecutive pieces, in the order of the rows
        self._starts: list[int] = []  # first row of each piece
        # Rows of the groups of a part, by its label list: similar nodes share that list.
        self._known: dict[int, tuple[Sequence[Labels], Indices]] = {}

    def add(self, part: PartialAggregation) -> None:
        _, known = self._known.get(id(part.labels), (None, None))
        if known is not None:
            self._merge_part(known, self._to_state(part.state))
            return
        labels = list(part.labels)
        keys = [label_set_key(each) for each in labels]
        if self._rows.keys().isdisjoint(keys):
            rows = self._append(keys, labels, part.state)
        else:
            rows = np.array([self._rows.get(key, -1) for key in keys], dtype=np.intp)
            old, new = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
            self._merge_part(rows[old], tuple(each[old] for each in self._to_state(part.state)))
            if len(new):
                some = new.tolist()
                state = _take_rows(part.state, new)
                rows[new] = self._append([keys[i] for i in some], [labels[i] for i in some], state)
        if len(self._known) < MAX_CACHED_GROUPINGS:
            self._known[id(part.labels)] = part.labels, rows

    def _append(self, keys: Sequence[Key], labels: Sequence[Labels], state: PartialState) -> Indices:
        """Append new groups; return their rows."""
        first = len(self._rows)
        self._rows.update(zip(keys, range(first, first + len(keys)), strict=True))
        self._names += labels
        self._starts.append(first)
        self._states.append(state)
        return np.arange(first, first + len(keys))

    def finish(self) -> Vector:
        vectors = [each for each in self._states if isinstance(each, Vector)]
        if len(vectors) == len(self._states):
            values = self._fold.finish_single(np.concatenate([each.values for each in vectors]))
            present = np.concatenate([each.present for each in vectors])
        else:
            states = split_batches(
                map(self._to_state, self._states), lambda state: state[0].size, MAX_CACHED_SIZE
            )
            some = [_finish(self._fold, _concat_states(each)) for each in states]
            values, present = (np.concatenate(column) for column in zip(*some, strict=True))
        return Vector(self._names, values, present).without_empty_rows()

    def _merge_part(self, rows: Indices, part: State) -> None:
        piece = bisect_right(self._starts, int(rows.min())) - 1
        if bisect_right(self._starts, int(rows.max())) - 1 != piece:
            self._states, self._starts, piece = [_concat_states([*map(self._to_state, self._states)])], [0], 0
        rows = rows - self._starts[piece]
        self._states[piece] = self._merge_rows(self._to_state(self._states[piece]), rows, part)

    def _merge_rows(self, state: State, rows: Indices, part: State) -> State:
        if len(rows) == len(state[0]) and (rows == np.arange(len(rows))).all():
            return self._fold.merge(state, part)
        merged = self._fold.merge(tuple(each[rows] for each in state), part)
        writable = tuple(each if each.flags.writeable else each.copy() for each in state)
        for each, new in zip(writable, merged, strict=True):
            each[rows] = new
        return writable

    def _to_state(self, state: PartialState) -> State:
        if not isinstance(state, Vector):
            return state
        rows = np.arange(len(state.values))
        return self._fold.start(state, Grouping(state.labels, rows, rows))


def _finish(fold: Fold, state: PartialState) -> tuple[Floats, Flags]:
    if isinstance(state, Vector):
        return fold.finish_single(state.values), state.present
    return fold.finish(state), state[0] > 0


def _take_rows(state: PartialState, rows: Indices) -> PartialState:
    return state.rows(rows) if isinstance(state, Vector) else tuple(each[rows] for each in state)


def _concat_states(states: list[State]) -> State:
    if len(states) == 1:
        return states[0]
    return tuple(np.concatenate(column) for column in zip(*states, strict=True))


def _aggregate_quantile(vector: Vector, groups: Grouping, wanted: Floats) -> Vector:
    shape = len(groups.labels), vector.values.shape[1]
    values, present = np.empty(shape), np.empty(shape, dtype=np.bool_)
    for row, members in enumerate(groups.members()):
        filled: Flags = vector.present[members].T
        values[row] = quantile(wanted, vector.values[members].T, filled)
        present[row] = filled.any(axis=1)
    return Vector(groups.labels, values, present).without_empty_rows()
