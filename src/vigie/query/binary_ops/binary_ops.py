"""Binary operators between scalars and vectors, and the set operators."""

from __future__ import annotations

from promql_parser import BinaryExpr, LabelModifierType

from vigie.query.arrays import Floats
from vigie.query.binary_ops.operators import SETS, apply_operator
from vigie.query.binary_ops.signatures import first_of_each, number_signatures
from vigie.query.binary_ops.vector_matching import VectorMatch, match_vectors
from vigie.query.errors import BadDataError
from vigie.query.vectors import Value, Vector, stack_vectors


def combine(expression: BinaryExpr, left: Value, right: Value) -> Value:
    """Apply a binary operator to two evaluated operands."""
    operator = str(expression.op)
    modifier = expression.modifier
    as_bool = modifier is not None and modifier.return_bool
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    if isinstance(left, Vector) and isinstance(right, Vector):
        how = _join_of(expression)
        return _set(how, left, right) if operator in SETS else match_vectors(how, left, right)
    if isinstance(left, Vector):
        assert not isinstance(right, Vector)
        return with_scalar(operator, left, right, as_bool=as_bool, swapped=False)
    if isinstance(right, Vector):
        return with_scalar(operator, right, left, as_bool=as_bool, swapped=True)
    return apply_operator(operator, left, right, as_bool=as_bool)[0]


def _join_of(expression: BinaryExpr) -> VectorMatch:
    modifier = expression.modifier
    operator = str(expression.op)
    if modifier is None:
        return VectorMatch(operator)
    fill = modifier.fill_values
    if fill.lhs is not None or fill.rhs is not None:
        raise BadDataError('invalid parameter "query": fill modifiers are not supported')
    matching = modifier.matching
    return VectorMatch(
        operator,
        as_bool=modifier.return_bool,
        on=matching is not None and matching.type == LabelModifierType.Include,
        labels=tuple(matching.labels) if matching else (),
        grouping=str(modifier.card).rpartition(".")[2],
        included=tuple(modifier.group_labels or ()),
    )


def with_scalar(operator: str, vector: Vector, scalar: Floats, *, as_bool: bool, swapped: bool) -> Vector:
    """Apply an operator to every series and a scalar per step."""
    sides = (scalar, vector.values) if swapped else (vector.values, scalar)
    values, kept = apply_operator(operator, *sides, as_bool=as_bool)
    if kept is None:
        return Vector(vector.labels, values, vector.present).without_names()
    return Vector(vector.labels, vector.values, vector.present & kept).without_empty_rows()


def _set(how: VectorMatch, left: Vector, right: Vector) -> Vector:
    left_keys, right_keys = number_signatures(left.labels, right.labels, how.labels, on=how.on)
    if how.operator == "or":
        there = first_of_each(left_keys, left.present, right_keys)
        rest = Vector(right.labels, right.values, right.present & ~there)
        return stack_vectors([left, rest.without_empty_rows()], left.values.shape[1]).merged()
    there = first_of_each(right_keys, right.present, left_keys)
    if how.operator == "unless":
        there = ~there
    return Vector(left.labels, left.values, left.present & there).without_empty_rows()
