"""Walks the tree of a query; every node gives its value at all steps at once."""

from __future__ import annotations

import numpy as np
import promql_parser as tree

from vigie.query.aggregations import aggregate
from vigie.query.binary import combine
from vigie.query.errors import ExecutionError
from vigie.query.functions import absence, call
from vigie.query.range_functions import RANGE_FUNCTIONS, RangeFunction
from vigie.query.ranges import Range, Value, unwrapped, windows
from vigie.query.scope import Scope
from vigie.query.selectors import instant, matchers_of, sample_times
from vigie.query.vectors import NAME, Vector, stacked, without_name
from vigie.query.windows import apply


def evaluate(expression: tree.Expr, scope: Scope) -> Value:
    """Return the value of an expression at every step of the scope."""
    expression = unwrapped(expression)
    scope.budget.check_time()
    match expression:
        case tree.NumberLiteral():
            return np.full(len(scope.times), expression.val)
        case tree.StringLiteral():
            return expression.val
        case tree.VectorSelector():
            return instant(scope, expression)
        case tree.UnaryExpr():
            return _negated(evaluate(expression.expr, scope))
        case tree.BinaryExpr():
            left = evaluate(expression.lhs, scope)
            return combine(expression, left, evaluate(expression.rhs, scope))
        case tree.AggregateExpr():
            return _aggregated(expression, scope)
        case tree.Call():
            return _called(expression, scope)
    raise ExecutionError(f"unhandled expression of type {type(expression).__name__}")


def _negated(value: Value) -> Value:
    if isinstance(value, Vector):
        labels = [without_name(each) for each in value.labels]
        return Vector(labels, -value.values, value.present).refuse_duplicates()
    assert not isinstance(value, str)
    return -value


def _aggregated(expression: tree.AggregateExpr, scope: Scope) -> Vector:
    parameter = None if expression.param is None else evaluate(expression.param, scope)
    vector = evaluate(expression.expr, scope)
    assert isinstance(vector, Vector)
    return aggregate(expression, vector, parameter)


def _called(expression: tree.Call, scope: Scope) -> Value:
    name = expression.func.name
    if name in RANGE_FUNCTIONS:
        return _of_range(RANGE_FUNCTIONS[name], expression, scope)
    if name == "absent_over_time":
        return _absent_over_time(expression.args[0], scope)
    inner = unwrapped(expression.args[0]) if expression.args else None
    if name == "timestamp" and isinstance(inner, tree.VectorSelector):
        return sample_times(scope, inner)
    arguments = [evaluate(argument, scope) for argument in expression.args]
    if name == "absent" and isinstance(arguments[0], Vector):
        return absence(arguments[0].steps_with_any(), _required(inner))
    value = call(name, scope, arguments)
    if value is None:
        raise ExecutionError(f"function {name}() is not supported: {_why(name)}")
    return value


def _why(name: str) -> str:
    native = name.startswith("histogram_")
    return "native histograms are not stored" if native else "it is experimental in Prometheus"


def _of_range(function: RangeFunction, expression: tree.Call, scope: Scope) -> Vector:
    arguments = list(expression.args)
    source = unwrapped(arguments.pop(function.range_at))
    assert isinstance(source, Range)
    parameters = []
    for argument in arguments:
        value = evaluate(argument, scope)
        assert isinstance(value, np.ndarray)
        parameters.append(value)
    parts = []
    for block, window in windows(scope, source, evaluate):
        parts.append(apply(function.kernel, function.least, block, window, parameters, cubic=function.cubic))
        scope.budget.check_time()
    vector = stacked(parts, len(scope.times))
    if function.keeps_name:
        return vector
    names = {labels.get(NAME) for labels in vector.labels}
    nameless = Vector([without_name(each) for each in vector.labels], vector.values, vector.present)
    return nameless if len(names) <= 1 else nameless.refuse_duplicates()


def _absent_over_time(argument: tree.Expr, scope: Scope) -> Vector:
    source = unwrapped(argument)
    assert isinstance(source, Range)
    there = np.zeros(len(scope.times), dtype=np.bool_)
    for _, window in windows(scope, source, evaluate):
        there |= window.counts > 0
    selector = source.vector_selector if isinstance(source, tree.MatrixSelector) else None
    return absence(there, _required(selector))


def _required(selector: tree.Expr | None) -> dict[str, str]:
    """Return the labels that a selector demands; one that it mentions twice is left out."""
    if not isinstance(selector, tree.VectorSelector):
        return {}
    labels: dict[str, str] = {}
    seen: set[str] = set()
    for matcher in matchers_of(selector):
        if matcher.label == NAME:
            continue
        if matcher.operator == "=" and matcher.label not in seen:
            labels[matcher.label] = matcher.value
            seen.add(matcher.label)
        else:
            labels.pop(matcher.label, None)
    return {label: value for label, value in labels.items() if value}
