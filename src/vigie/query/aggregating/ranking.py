"""Aggregations that choose among series, or count their values: topk, limitk, limit_ratio, count_values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import numpy as np
from promql_parser import AggModifier

from vigie.query.aggregating.grouping import Grouping, grouped
from vigie.query.errors import ExecutionError
from vigie.query.functions.label_functions import valid_label_name
from vigie.query.functions.numbers import spelled
from vigie.query.storage import Labels
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


def _limit_ratio(vector: Vector, _: Grouping, parameter: Floats) -> Vector:
    """Keep about this share of the series, always the same ones; a negative share keeps the others."""
    if np.isnan(parameter).any():
        raise ExecutionError("Ratio value is NaN")
    share = np.clip(parameter, -1.0, 1.0)
    place = np.array([_place(labels) for labels in vector.labels])[:, np.newaxis]
    chosen = np.where(share >= 0, place < share, place >= 1 + share)
    return Vector(vector.labels, vector.values, vector.present & chosen).without_empty_rows()


def _place(labels: Labels) -> float:
    """Return a number from 0 to 1 that depends on the labels alone."""
    text = json.dumps(sorted(labels.items()))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


CHOOSERS: dict[str, Callable[[Vector, Grouping, Floats], Vector]] = {
    "topk": _topk,
    "bottomk": _bottomk,
    "limitk": _limitk,
    "limit_ratio": _limit_ratio,
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
