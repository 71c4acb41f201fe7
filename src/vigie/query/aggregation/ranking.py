"""Aggregations that select series or count values: topk, limitk, limit_ratio, count_values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import numpy as np
from promql_parser import AggModifier

from vigie.query.aggregation.grouping import Grouping, group_rows
from vigie.query.arrays import Flags, Floats, Indices
from vigie.query.errors import ExecutionError
from vigie.query.functions.label_functions import is_valid_label_name
from vigie.query.functions.number_format import format_number
from vigie.query.storage import Labels
from vigie.query.vectors import Key, Vector, empty_vector, label_set_key

Spend = Callable[[int], None]  # counts created samples, and raises when there are too many


def _topk(vector: Vector, groups: Grouping, parameter: Floats) -> Vector:
    return _select_lowest(vector, groups, parameter, -vector.values)


def _bottomk(vector: Vector, groups: Grouping, parameter: Floats) -> Vector:
    return _select_lowest(vector, groups, parameter, vector.values)


def _limitk(vector: Vector, groups: Grouping, parameter: Floats) -> Vector:
    return _select_lowest(vector, groups, parameter, np.zeros_like(vector.values))


def _select_lowest(vector: Vector, groups: Grouping, parameter: Floats, keys: Floats) -> Vector:
    """Keep, at each step, the k series of each group with the lowest keys; NaN come last."""
    wanted = _parse_counts(parameter)  # checked even if there are no series
    if not len(vector.labels):
        return vector
    present = np.zeros_like(vector.present)
    order: list[Indices] = []
    for members in groups.members():
        by_key = _rank_rows(keys[members], vector.present[members])
        is_selected = np.arange(len(members))[:, np.newaxis] < wanted
        selected: Flags = np.zeros(by_key.shape, dtype=np.bool_)
        np.put_along_axis(selected, by_key, is_selected, axis=0)
        present[members] = selected & vector.present[members]
        order.append(members[by_key[:, 0]] if by_key.shape[1] else members)
    # The order of the first step is that of an instant query, the only kind whose result is ordered.
    ranked = Vector(vector.labels, vector.values, present).rows(np.concatenate(order))
    return ranked.without_empty_rows()


def _rank_rows(keys: Floats, present: Flags) -> Indices:
    """Return, for each step, the rows from best to worst: numbers, NaN, absent."""
    return np.lexsort((keys, np.isnan(keys), ~present), axis=0)


def _parse_counts(parameter: Floats) -> Floats:
    for number in parameter[~(np.abs(parameter) < 2.0**63)].tolist():
        raise ExecutionError(f"Scalar value {format_number(number)} overflows int64")
    return np.trunc(parameter)


def _limit_ratio(vector: Vector, _: Grouping, parameter: Floats) -> Vector:
    """Keep this share of the series, chosen by a hash of their labels; a negative share keeps the others."""
    if np.isnan(parameter).any():
        raise ExecutionError("Ratio value is NaN")
    share = np.clip(parameter, -1.0, 1.0)
    position = np.array([_hash_labels(labels) for labels in vector.labels])[:, np.newaxis]
    is_selected = np.where(share >= 0, position < share, position >= 1 + share)
    return Vector(vector.labels, vector.values, vector.present & is_selected).without_empty_rows()


def _hash_labels(labels: Labels) -> float:
    """Return a hash of the labels, from 0 to 1."""
    text = json.dumps(sorted(labels.items()))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


SELECTING_OPERATORS: dict[str, Callable[[Vector, Grouping, Floats], Vector]] = {
    "topk": _topk,
    "bottomk": _bottomk,
    "limitk": _limitk,
    "limit_ratio": _limit_ratio,
}


def count_values(vector: Vector, label: str, modifier: AggModifier | None, spend: Spend) -> Vector:
    """Count, per group, the series with each value; the value becomes a label."""
    if not is_valid_label_name(label):
        raise ExecutionError(f'invalid label name "{label}"')
    steps = vector.values.shape[1]
    if not vector.present.any():
        return empty_vector(steps)
    groups = group_rows(vector.labels, modifier)
    at_row, at_step = np.nonzero(vector.present)
    # Compare bits, because -0 is formatted differently from 0; all NaN get the same label.
    bits, of_value = np.unique(vector.values[at_row, at_step].view(np.uint64), return_inverse=True)
    both = groups.numbers()[at_row] * len(bits) + of_value.ravel()
    kinds, of_kind = np.unique(both, return_inverse=True)
    spend(len(kinds) * steps)  # before the rows are created
    rows: dict[Key, int] = {}
    names: list[Labels] = []
    of_row = np.empty(len(kinds), dtype=np.intp)
    for position, kind in enumerate(kinds.tolist()):
        group, value = divmod(kind, len(bits))
        labels = {**groups.labels[group], label: format_number(bits[value].view(np.float64))}
        of_row[position] = rows.setdefault(label_set_key(labels), len(rows))
        if len(rows) > len(names):
            names.append(labels)
    counts = np.zeros((len(names), steps))
    np.add.at(counts, (of_row[of_kind.ravel()], at_step), 1)
    return Vector(names, counts, counts > 0)
