"""Vector matching: which series of two vectors belong together, and what their result is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vigie.query.errors import ExecutionError
from vigie.query.operators import ARITHMETIC, computed
from vigie.query.storage import Labels
from vigie.query.vectors import NAME, Flags, Indices, Vector, empty, key_of, without_name


class Join(NamedTuple):
    """How two vectors are combined: the operator, on or ignoring which labels, and who may have many."""

    operator: str
    as_bool: bool = False
    on: bool = False
    labels: tuple[str, ...] = ()
    grouping: str = "OneToOne"
    included: tuple[str, ...] = ()


def signatures(how: Join, series: Sequence[Labels]) -> list[object]:
    """Return for each series what must be equal for it to match another."""
    if how.on:
        return [tuple(labels.get(name, "") for name in how.labels) for labels in series]
    ignored = {*how.labels, NAME}
    return [frozenset(pair for pair in labels.items() if pair[0] not in ignored) for labels in series]


def join(how: Join, left: Vector, right: Vector) -> Vector:
    """Return the operator's result for every pair of matching series."""
    swapped = how.grouping == "OneToMany"
    many, one = (right, left) if swapped else (left, right)
    many_keys, one_keys = signatures(how, many.labels), signatures(how, one.labels)
    _refuse_two_of_one(one, one_keys, many.steps_with_any(), "left" if swapped else "right")
    many_rows, one_rows = _pairs(many_keys, one_keys)
    if not len(many_rows):
        return empty(left.values.shape[1])
    sides = many.values[many_rows], one.values[one_rows]
    values, kept = computed(how.operator, *(sides[::-1] if swapped else sides), as_bool=how.as_bool)
    present = many.present[many_rows] & one.present[one_rows]
    if kept is not None:
        present &= kept
    pairs = zip(many_rows.tolist(), one_rows.tolist(), strict=True)
    labels = [_result(how, many.labels[row], one.labels[other]) for row, other in pairs]
    _refuse_ambiguous(how, [many_keys[row] for row in many_rows.tolist()], labels, present)
    return Vector(labels, values, present).without_empty_rows().merged()


def _pairs(many: Sequence[object], one: Sequence[object]) -> tuple[Indices, Indices]:
    """Return the rows of either side that match, pair by pair."""
    places: dict[object, list[int]] = {}
    for row, key in enumerate(one):
        places.setdefault(key, []).append(row)
    pairs = [(row, other) for row, key in enumerate(many) for other in places.get(key, ())]
    rows = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def _result(how: Join, many: Labels, one: Labels) -> Labels:
    """Return the labels of a pair's result."""
    if how.operator in ARITHMETIC or how.as_bool:
        many = without_name(many)
    if how.grouping == "OneToOne":
        return {name: value for name, value in many.items() if (name in how.labels) == how.on}
    if not how.included:
        return many
    labels = {name: value for name, value in many.items() if name not in how.included}
    return labels | {name: one[name] for name in how.included if one.get(name)}


def _refuse_two_of_one(one: Vector, keys: Sequence[object], relevant: Flags, side: str) -> None:
    """Raise if two series of the side that must be unique meet in one signature at one step."""
    rows = _overlapping(keys, one.present & relevant)
    if rows:
        found = ", ".join(_spelled(one.labels[row]) for row in rows)
        raise ExecutionError(
            f"found duplicate series for the match group on the {side} hand-side of the operation: [{found}];"
            "many-to-many matching not allowed: matching labels must be unique on one side"
        )


def _refuse_ambiguous(how: Join, keys: list[object], labels: list[Labels], present: Flags) -> None:
    """Raise if two results of one signature cannot be told apart."""
    if how.grouping == "OneToOne":
        if _overlapping(keys, present):
            raise ExecutionError(
                "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"
            )
    elif _overlapping([(key, key_of(each)) for key, each in zip(keys, labels, strict=True)], present):
        raise ExecutionError("multiple matches for labels: grouping labels must ensure unique matches")


def _overlapping(keys: Sequence[object], present: Flags) -> list[int]:
    """Return two rows that have the same key and a sample at the same step, or nothing."""
    if len(set(keys)) == len(keys):
        return []
    groups: dict[object, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    for rows in groups.values():
        if len(rows) > 1:
            together = np.flatnonzero(present[rows].sum(axis=0) > 1)
            if len(together):
                return [row for row in rows if present[row, together[0]]][:2]
    return []


def _spelled(labels: Labels) -> str:
    pairs = ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items()) if name != NAME)
    return f"{labels.get(NAME, '')}{{{pairs}}}"
