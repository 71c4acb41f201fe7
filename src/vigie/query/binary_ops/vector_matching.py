"""Vector matching: pairs the series of two vectors, and labels the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vigie.query.arrays import Flags, Indices
from vigie.query.binary_ops.operators import ARITHMETIC, apply_operator
from vigie.query.binary_ops.signatures import are_distinct, number_signatures, overlapping, pairs
from vigie.query.errors import ExecutionError
from vigie.query.label_table import LabelTable, MatrixLabelTable, metric_names, take_rows
from vigie.query.storage import Labels
from vigie.query.vectors import NAME, Vector, drop_name, empty, key_of


class VectorMatch(NamedTuple):
    """The operator, its matching labels, and its cardinality."""

    operator: str
    as_bool: bool = False
    on: bool = False
    labels: tuple[str, ...] = ()
    grouping: str = "OneToOne"
    included: tuple[str, ...] = ()


def match_vectors(how: VectorMatch, left: Vector, right: Vector) -> Vector:
    """Apply the operator to every pair of matching series."""
    swapped = how.grouping == "OneToMany"
    many, one = (right, left) if swapped else (left, right)
    many_keys, one_keys = number_signatures(many.labels, one.labels, how.labels, on=how.on)
    _refuse_two_of_one(one, one_keys, many.steps_with_any(), "left" if swapped else "right")
    many_rows, one_rows = pairs(many_keys, one_keys)
    if not len(many_rows):
        return empty(left.values.shape[1])
    sides = many.values[many_rows], one.values[one_rows]
    values, kept = apply_operator(how.operator, *(sides[::-1] if swapped else sides), as_bool=how.as_bool)
    present = many.present[many_rows] & one.present[one_rows]
    if kept is not None:
        present &= kept
    keys = many_keys[many_rows]
    labels = _results(how, many.labels, one.labels, many_rows, one_rows)
    if _are_unlike(how, many.labels, many_rows, keys):
        return Vector(labels, values, present).without_empty_rows()
    labels = list(labels)
    _refuse_ambiguous(how, keys, labels, present)
    return Vector(labels, values, present).without_empty_rows().merged()


def _are_unlike(how: VectorMatch, labels: Sequence[Labels], rows: Indices, keys: Indices) -> bool:
    """Report whether the results are known to have distinct labels, without building them."""
    if how.grouping == "OneToOne":  # a result has the matching labels, and maybe its name
        return are_distinct(keys) and not (how.on and NAME in how.labels)
    one_name = not _loses_name(how) or (isinstance(labels, LabelTable) and len(metric_names(labels)) <= 1)
    return not how.included and one_name and are_distinct(rows)


def _loses_name(how: VectorMatch) -> bool:
    return how.operator in ARITHMETIC or how.as_bool


def _results(
    how: VectorMatch, many: Sequence[Labels], one: Sequence[Labels], many_rows: Indices, one_rows: Indices
) -> Sequence[Labels]:
    if isinstance(many, LabelTable) and not how.included:
        rows = many.take(many_rows)
        rows = rows.without((NAME,)) if _loses_name(how) else rows
        if how.grouping != "OneToOne":
            return rows
        if not how.on:
            return rows.without(how.labels)
        return MatrixLabelTable({name: rows.column(name) for name in how.labels}, len(many_rows))
    some, others = take_rows(many, many_rows), take_rows(one, one_rows)
    return [_result(how, each, other) for each, other in zip(some, others, strict=True)]


def _result(how: VectorMatch, many: Labels, one: Labels) -> Labels:
    if _loses_name(how):
        many = drop_name(many)
    if how.grouping == "OneToOne":
        return {name: value for name, value in many.items() if (name in how.labels) == how.on}
    if not how.included:
        return many
    labels = {name: value for name, value in many.items() if name not in how.included}
    return labels | {name: one[name] for name in how.included if one.get(name)}


def _refuse_two_of_one(one: Vector, keys: Indices, relevant: Flags, side: str) -> None:
    """Raise if two series of the "one" side have the same signature at one step."""
    rows = overlapping(keys, one.present & relevant)
    if rows:
        found = ", ".join(_spelled(one.labels[row]) for row in rows)
        raise ExecutionError(
            f"found duplicate series for the match group on the {side} hand-side of the operation: [{found}];"
            "many-to-many matching not allowed: matching labels must be unique on one side"
        )


def _refuse_ambiguous(how: VectorMatch, keys: Indices, labels: list[Labels], present: Flags) -> None:
    """Raise if two results of one signature have the same labels."""
    if how.grouping == "OneToOne":
        if overlapping(keys, present):
            raise ExecutionError(
                "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"
            )
        return
    known: dict[object, int] = {}
    both = zip(keys.tolist(), map(key_of, labels), strict=True)
    alike = np.array([known.setdefault(each, len(known)) for each in both], dtype=np.intp)
    if overlapping(alike, present):
        raise ExecutionError("multiple matches for labels: grouping labels must ensure unique matches")


def _spelled(labels: Labels) -> str:
    pairs = ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items()) if name != NAME)
    return f"{labels.get(NAME, '')}{{{pairs}}}"
