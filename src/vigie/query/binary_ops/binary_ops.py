"""Binary operators between scalars and vectors, and the set operators."""

from __future__ import annotations

from promql_parser import BinaryExpr, LabelModifierType

from vigie.query.arrays import Floats
from vigie.query.binary_ops.operators import SETS, apply_operator
from vigie.query.binary_ops.signatures import encode_signatures, present_by_signature
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
        match = _read_matching(expression)
        return _apply_set(match, left, right) if operator in SETS else match_vectors(match, left, right)
    if isinstance(left, Vector):
        assert not isinstance(right, Vector)
        return apply_scalar(operator, left, right, as_bool=as_bool, swapped=False)
    if isinstance(right, Vector):
        return apply_scalar(operator, right, left, as_bool=as_bool, swapped=True)
    return apply_operator(operator, left, right, as_bool=as_bool)[0]


def _read_matching(expression: BinaryExpr) -> VectorMatch:
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


def apply_scalar(operator: str, vector: Vector, scalar: Floats, *, as_bool: bool, swapped: bool) -> Vector:
    """Apply an operator to every series and a scalar per step."""
    sides = (scalar, vector.values) if swapped else (vector.values, scalar)
    values, is_kept = apply_operator(operator, *sides, as_bool=as_bool)
    if is_kept is None:
        return Vector(vector.labels, values, vector.present).without_names()
    return Vector(vector.labels, vector.values, vector.present & is_kept).without_empty_rows()


def _apply_set(match: VectorMatch, left: Vector, right: Vector) -> Vector:
    left_keys, right_keys = encode_signatures(left.labels, right.labels, match.labels, on=match.on)
    if match.operator == "or":
        in_other = present_by_signature(left_keys, left.present, right_keys)
        rest = Vector(right.labels, right.values, right.present & ~in_other)
        return stack_vectors([left, rest.without_empty_rows()], left.values.shape[1]).merge_rows()
    in_other = present_by_signature(right_keys, right.present, left_keys)
    if match.operator == "unless":
        in_other = ~in_other
    return Vector(left.labels, left.values, left.present & in_other).without_empty_rows()
