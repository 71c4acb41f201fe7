"""Aggregations that make one series of each group: sum, avg, min, max, count, group, spread, quantile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from promql_parser import AggregateExpr

from vigie.query.errors import ExecutionError
from vigie.query.grouping import Grouping, grouped
from vigie.query.quantiles import quantile
from vigie.query.ranges import Value
from vigie.query.ranking import CHOOSERS, count_values
from vigie.query.vectors import Flags, Floats, Indices, Vector, empty


def aggregate(expression: AggregateExpr, vector: Vector, parameter: Value | None) -> Vector:
    """Return the aggregation of an evaluated vector."""
    operator = str(expression.op)
    if not len(vector.labels):
        return empty(vector.values.shape[1])
    if operator == "count_values":
        assert isinstance(parameter, str)
        return count_values(vector, parameter, expression.modifier)
    groups = grouped(vector.labels, expression.modifier)
    if operator in CHOOSERS:
        assert isinstance(parameter, np.ndarray)
        return CHOOSERS[operator](vector, groups, parameter)
    with np.errstate(all="ignore"):
        if operator == "quantile":
            assert isinstance(parameter, np.ndarray)
            return _quantiles(vector, groups, parameter)
        if operator not in REDUCTIONS:
            raise ExecutionError(f"aggregation {operator} is not supported")
        counts = _counts(vector, groups)
        values = REDUCTIONS[operator](vector, groups, counts)
    return Vector(groups.labels, values, counts > 0).without_empty_rows()


def _reduced(operation: np.ufunc, values: Floats, groups: Grouping) -> Floats:
    # Rows that already stand in the order of their groups need not be copied.
    sorted_already = (np.diff(groups.order) > 0).all()
    reduced: Floats = operation.reduceat(
        values if sorted_already else values[groups.order], groups.starts, axis=0
    )
    return reduced


def _counts(vector: Vector, groups: Grouping) -> Floats:
    """Return how many series of each group have a sample at each step."""
    if vector.present.all():
        return np.repeat(_sizes(groups).astype(np.float64)[:, np.newaxis], vector.values.shape[1], axis=1)
    return _reduced(np.add, vector.present.astype(np.float64), groups)


def _sizes(groups: Grouping) -> Indices:
    return np.diff(np.append(groups.starts, len(groups.order)))


def _filled(vector: Vector, instead: float) -> Floats:
    return vector.values if vector.present.all() else np.where(vector.present, vector.values, instead)


def _sum(vector: Vector, groups: Grouping, _: Floats) -> Floats:
    return _reduced(np.add, _filled(vector, 0.0), groups)


def _average(vector: Vector, groups: Grouping, counts: Floats) -> Floats:
    return _sum(vector, groups, counts) / counts


def _lowest(vector: Vector, groups: Grouping, _: Floats) -> Floats:
    return _reduced(np.fmin, _filled(vector, np.nan), groups)


def _highest(vector: Vector, groups: Grouping, _: Floats) -> Floats:
    return _reduced(np.fmax, _filled(vector, np.nan), groups)


def _count(_: Vector, __: Grouping, counts: Floats) -> Floats:
    return counts


def _group(_: Vector, __: Grouping, counts: Floats) -> Floats:
    return np.ones_like(counts)


def _variance(vector: Vector, groups: Grouping, counts: Floats) -> Floats:
    mean = _average(vector, groups, counts)
    of_row = np.empty(len(groups.order), dtype=np.intp)
    of_row[groups.order] = np.repeat(np.arange(len(groups.labels)), _sizes(groups))
    off = np.where(vector.present, vector.values - mean[of_row], 0.0)
    return _reduced(np.add, off * off, groups) / counts


def _deviation(vector: Vector, groups: Grouping, counts: Floats) -> Floats:
    return np.sqrt(_variance(vector, groups, counts))


def _quantiles(vector: Vector, groups: Grouping, wanted: Floats) -> Vector:
    shape = len(groups.labels), vector.values.shape[1]
    values, present = np.empty(shape), np.empty(shape, dtype=np.bool_)
    for row, members in enumerate(groups.members()):
        filled: Flags = vector.present[members].T
        values[row] = quantile(wanted, vector.values[members].T, filled)
        present[row] = filled.any(axis=1)
    return Vector(groups.labels, values, present).without_empty_rows()


REDUCTIONS: dict[str, Callable[[Vector, Grouping, Floats], Floats]] = {
    "sum": _sum,
    "avg": _average,
    "min": _lowest,
    "max": _highest,
    "count": _count,
    "group": _group,
    "stdvar": _variance,
    "stddev": _deviation,
}
