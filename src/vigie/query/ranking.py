"""Aggregations that choose among series, or count their values: topk, bottomk, limitk, count_values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from promql_parser import AggModifier

from vigie.query.errors import ExecutionError
from vigie.query.grouping import Grouping, grouped
from vigie.query.label_functions import valid_label_name
from vigie.query.numbers import spelled
from vigie.query.vectors import Flags, Floats, Indices, Key, Vector, empty, key_of


def _topk(vector: Vector, groups: Grouping, parameter: Floats) -> Vector:
    return _ranked(vector, groups, parameter, -vector.values)


def _bottomk(vector: Vector, groups: Grouping, parameter: Floats) -> Vector:
    return _ranked(vector, groups, parameter, vector.values)


def _limitk(vector: Vector, groups: Grouping, parameter: Floats) -> Vector:
    return _ranked(vector, groups, parameter, np.zeros_like(vector.values))


def _ranked(vector: Vector, groups: Grouping, parameter: Floats, keys: Floats) -> Vector:
    """Keep, at each step, the k series of each group with the lowest keys; NaN come after all others."""
    wanted = _counts(parameter)
    present = np.zeros_like(vector.present)
    order: list[Indices] = []
    for members in groups.members():
        by_key = _order(keys[members], vector.present[members])
        chosen = np.arange(len(members))[:, np.newaxis] < wanted
        kept: Flags = np.zeros(by_key.shape, dtype=np.bool_)
        np.put_along_axis(kept, by_key, chosen, axis=0)
        present[members] = kept & vector.present[members]
        order.append(members[by_key[:, 0]] if by_key.shape[1] else members)
    # The order of the first step is that of an instant query, the only one whose answer is ordered.
    ranked = Vector(vector.labels, vector.values, present).rows(np.concatenate(order))
    return ranked.without_empty_rows()


def _order(keys: Floats, present: Flags) -> Indices:
    """Return, for each step, the rows from best to worst: numbers, then NaN, then what is absent."""
    return np.lexsort((keys, np.isnan(keys), ~present), axis=0)


def _counts(parameter: Floats) -> Floats:
    for number in parameter[~(np.abs(parameter) < 2.0**63)].tolist():
        raise ExecutionError(f"Scalar value {spelled(number)} overflows int64")
    return np.trunc(parameter)


CHOOSERS: dict[str, Callable[[Vector, Grouping, Floats], Vector]] = {
    "topk": _topk,
    "bottomk": _bottomk,
    "limitk": _limitk,
}


def count_values(vector: Vector, label: str, modifier: AggModifier | None) -> Vector:
    """Return, for each group and each value, how many series have it, with the value as a label."""
    if not valid_label_name(label):
        raise ExecutionError(f'invalid label name "{label}"')
    groups = grouped(vector.labels, modifier)
    counts: dict[Key, tuple[dict[str, str], Floats]] = {}
    steps = vector.values.shape[1]
    for name, members in zip(groups.labels, groups.members(), strict=True):
        for row, step in zip(*np.nonzero(vector.present[members]), strict=True):
            labels = {**name, label: spelled(vector.values[members[row], step])}
            _, numbers = counts.setdefault(key_of(labels), (labels, np.zeros(steps)))
            numbers[step] += 1
    if not counts:
        return empty(steps)
    values = np.array([numbers for _, numbers in counts.values()])
    return Vector([labels for labels, _ in counts.values()], values, values > 0)
