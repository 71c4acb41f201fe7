"""Vector matching: pairs the series of two vectors, and labels the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vigie.query.arrays import Flags, Indices
from vigie.query.binary_ops.operators import ARITHMETIC, apply_operator
from vigie.query.binary_ops.signatures import are_unique, encode_signatures, find_overlap, pair_rows
from vigie.query.errors import ExecutionError
from vigie.query.label_table import LabelTable, MatrixLabelTable, metric_names, take_rows
from vigie.query.storage import Labels
from vigie.query.vectors import NAME, Vector, drop_name, empty_vector, label_set_key


class VectorMatch(NamedTuple):
    """The operator, its matching labels, and its cardinality."""

    operator: str
    as_bool: bool = False
    on: bool = False
    labels: tuple[str, ...] = ()
    grouping: str = "OneToOne"
    included: tuple[str, ...] = ()


def match_vectors(match: VectorMatch, left: Vector, right: Vector) -> Vector:
    """Apply the operator to every pair of matching series."""
    swapped = match.grouping == "OneToMany"
    many, one = (right, left) if swapped else (left, right)
    many_keys, one_keys = encode_signatures(many.labels, one.labels, match.labels, on=match.on)
    _check_one_side(one, one_keys, many.steps_with_any(), "left" if swapped else "right")
    many_rows, one_rows = pair_rows(many_keys, one_keys)
    if not len(many_rows):
        return empty_vector(left.values.shape[1])
    sides = many.values[many_rows], one.values[one_rows]
    values, is_kept = apply_operator(
        match.operator, *(sides[::-1] if swapped else sides), as_bool=match.as_bool
    )
    present = many.present[many_rows] & one.present[one_rows]
    if is_kept is not None:
        present &= is_kept
    keys = many_keys[many_rows]
    labels = _result_labels(match, many.labels, one.labels, many_rows, one_rows)
    if _have_distinct_labels(match, many.labels, many_rows, keys):
        return Vector(labels, values, present).without_empty_rows()
    labels = list(labels)
    _check_unique_results(match, keys, labels, present)
    return Vector(labels, values, present).without_empty_rows().merge_rows()


def _have_distinct_labels(match: VectorMatch, labels: Sequence[Labels], rows: Indices, keys: Indices) -> bool:
    """Report whether the results are known to have distinct labels, without building them."""
    if match.grouping == "OneToOne":  # a result has the matching labels, and maybe its name
        return are_unique(keys) and not (match.on and NAME in match.labels)
    one_name = not _drops_name(match) or (isinstance(labels, LabelTable) and len(metric_names(labels)) <= 1)
    return not match.included and one_name and are_unique(rows)


def _drops_name(match: VectorMatch) -> bool:
    return match.operator in ARITHMETIC or match.as_bool


def _result_labels(
    match: VectorMatch, many: Sequence[Labels], one: Sequence[Labels], many_rows: Indices, one_rows: Indices
) -> Sequence[Labels]:
    if isinstance(many, LabelTable) and not match.included:
        rows = many.take(many_rows)
        rows = rows.without((NAME,)) if _drops_name(match) else rows
        if match.grouping != "OneToOne":
            return rows
        if not match.on:
            return rows.without(match.labels)
        return MatrixLabelTable({name: rows.column(name) for name in match.labels}, len(many_rows))
    some, others = take_rows(many, many_rows), take_rows(one, one_rows)
    return [_label_result(match, each, other) for each, other in zip(some, others, strict=True)]


def _label_result(match: VectorMatch, many: Labels, one: Labels) -> Labels:
    if _drops_name(match):
        many = drop_name(many)
    if match.grouping == "OneToOne":
        return {name: value for name, value in many.items() if (name in match.labels) == match.on}
    if not match.included:
        return many
    labels = {name: value for name, value in many.items() if name not in match.included}
    return labels | {name: one[name] for name in match.included if one.get(name)}


def _check_one_side(one: Vector, keys: Indices, relevant: Flags, side: str) -> None:
    """Raise if two series of the "one" side have the same signature at one step."""
    rows = find_overlap(keys, one.present & relevant)
    if rows:
        found = ", ".join(_format_labels(one.labels[row]) for row in rows)
        raise ExecutionError(
            f"found duplicate series for the match group on the {side} hand-side of the operation: [{found}];"
            "many-to-many matching not allowed: matching labels must be unique on one side"
        )


def _check_unique_results(match: VectorMatch, keys: Indices, labels: list[Labels], present: Flags) -> None:
    """Raise if two results of one signature have the same labels."""
    if match.grouping == "OneToOne":
        if find_overlap(keys, present):
            raise ExecutionError(
                "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"
            )
        return
    known: dict[object, int] = {}
    both = zip(keys.tolist(), map(label_set_key, labels), strict=True)
    result_keys = np.array([known.setdefault(each, len(known)) for each in both], dtype=np.intp)
    if find_overlap(result_keys, present):
        raise ExecutionError("multiple matches for labels: grouping labels must ensure unique matches")


def _format_labels(labels: Labels) -> str:
    pairs = ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items()) if name != NAME)
    return f"{labels.get(NAME, '')}{{{pairs}}}"
