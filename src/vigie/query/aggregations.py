"""Aggregations over an evaluated vector, or over its parts as they come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from promql_parser import AggregateExpr

from vigie.query.errors import ExecutionError
from vigie.query.folds import FOLDS, Fold, State
from vigie.query.grouping import Grouper, Grouping, grouped
from vigie.query.quantiles import quantile
from vigie.query.ranges import Value
from vigie.query.ranking import CHOOSERS, count_values
from vigie.query.storage import Labels
from vigie.query.vectors import Flags, Floats, Indices, Key, Vector, empty, key_of


class Partial(NamedTuple):
    """What an aggregation keeps of one part of its vector."""

    labels: list[Labels]
    state: State


def aggregate(expression: AggregateExpr, vector: Vector, parameter: Value | None) -> Vector:
    """Return the aggregation of an evaluated vector."""
    operator = str(expression.op)
    steps = vector.values.shape[1]
    if operator in FOLDS:
        return joined(FOLDS[operator], [begun(FOLDS[operator], vector, Grouper(expression.modifier))], steps)
    if not len(vector.labels):
        return empty(steps)
    if operator == "count_values":
        assert isinstance(parameter, str)
        return count_values(vector, parameter, expression.modifier)
    groups = grouped(vector.labels, expression.modifier)
    assert isinstance(parameter, np.ndarray)
    if operator in CHOOSERS:
        return CHOOSERS[operator](vector, groups, parameter)
    if operator == "quantile":
        with np.errstate(all="ignore"):
            return _quantiles(vector, groups, parameter)
    raise ExecutionError(f"aggregation {operator} is not supported")


def begun(fold: Fold, vector: Vector, grouper: Grouper) -> Partial | None:
    """Return what is kept of one part, if it has any series."""
    if not len(vector.labels):
        return None
    groups = grouper.of(vector.labels)
    with np.errstate(all="ignore"):
        return Partial(groups.labels, fold.begun(vector, groups))


def joined(fold: Fold, parts: Iterable[Partial | None], steps: int) -> Vector:
    """Return the aggregation of all parts."""
    rows: dict[Key, int] = {}
    names: list[Labels] = []
    states: list[State] = []  # of the groups in the order of their rows, in pieces that follow one another
    with np.errstate(all="ignore"):
        for part in parts:
            if part is None:
                continue
            keys = [key_of(labels) for labels in part.labels]
            known = np.array([rows.get(key, -1) for key in keys], dtype=np.intp)
            old, new = np.flatnonzero(known >= 0), np.flatnonzero(known < 0)
            if len(old):
                states = [
                    _joined_rows(fold, _whole(states), known[old], tuple(each[old] for each in part.state))
                ]
            if len(new):
                rows.update((keys[i], len(rows)) for i in new.tolist())
                names += [part.labels[i] for i in new.tolist()]
                states.append(tuple(each[new] for each in part.state))
        if not states:
            return empty(steps)
        state = _whole(states)
        return Vector(names, fold.ended(state), state[0] > 0).without_empty_rows()


def _joined_rows(fold: Fold, state: State, rows: Indices, part: State) -> State:
    made = fold.joined(tuple(each[rows] for each in state), part)
    for each, new in zip(state, made, strict=True):
        each[rows] = new
    return state


def _whole(states: list[State]) -> State:
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
