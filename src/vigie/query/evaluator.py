"""Evaluates the tree of a query; every node gives its value at all steps at once."""

from __future__ import annotations

from functools import partial

import numpy as np
import promql_parser as tree

from vigie.query.aggregation.aggregations import PartialAggregation, aggregate, merge, start
from vigie.query.aggregation.grouping import Grouper
from vigie.query.aggregation.partial_aggregates import FOLDS, Fold
from vigie.query.binary_ops.binary_ops import combine
from vigie.query.errors import ExecutionError
from vigie.query.eval_context import EvalContext
from vigie.query.functions.info import info
from vigie.query.functions.instant import absence, call
from vigie.query.functions.range_functions import RANGE_FUNCTIONS
from vigie.query.label_table import NAME, drop_names, metric_names
from vigie.query.matchers import matchers_of
from vigie.query.parser.long_expressions import OperatorChain, chain_of
from vigie.query.range_vectors import Range, unwrap, windows
from vigie.query.rollups.evaluator import evaluate_instant, evaluate_parts, evaluate_range
from vigie.query.selectors import sample_times, select_instant
from vigie.query.streaming import StreamingPlan, parts, plan_streaming
from vigie.query.vectors import Value, Vector, stack_vectors
from vigie.query.windows import RangeFunction, apply


def evaluate(expression: tree.Expr, scope: EvalContext) -> Value:
    """Evaluate an expression at every step of the context."""
    expression = unwrap(expression)
    scope.budget.check_time()
    if scope.shared is None:
        return _evaluated(expression, scope)
    return scope.shared.value(expression, scope.times, partial(_evaluated, expression, scope))


def _evaluated(expression: tree.Expr, scope: EvalContext) -> Value:
    stream = plan_streaming(expression, scope, evaluate)
    if stream:
        return _stacked(stream, scope)
    match expression:
        case tree.NumberLiteral():
            return np.full(len(scope.times), expression.val)
        case tree.StringLiteral():
            return expression.val
        case tree.VectorSelector():
            return _selected(expression, scope)
        case tree.UnaryExpr():
            return _negated(evaluate(expression.expr, scope))
        case tree.BinaryExpr():
            left = evaluate(expression.lhs, scope)
            if scope.shared and _decides(expression, left):
                return left
            return combine(expression, left, evaluate(expression.rhs, scope))
        case tree.AggregateExpr():
            return _aggregated(expression, scope)
        case tree.Call():
            return _called(expression, scope)
    raise ExecutionError(f"unhandled expression of type {type(expression).__name__}")


def _decides(expression: tree.BinaryExpr, left: Value) -> bool:
    """Report whether the result is empty, whatever the right operand is."""
    return str(expression.op) != "or" and isinstance(left, Vector) and not len(left.labels)


def _stacked(stream: StreamingPlan, scope: EvalContext) -> Vector:
    def counted(vector: Vector) -> Vector:
        scope.budget.spend(vector.values.size)
        return vector

    return stack_vectors(parts(stream, scope, counted), len(scope.times))


def _selected(selector: tree.VectorSelector, scope: EvalContext) -> Vector:
    rolled = evaluate_instant(scope, selector)
    if rolled is None:
        return select_instant(scope, selector)
    return rolled.vector if rolled.steps.all() else rolled.over(select_instant(scope, selector))


def _negated(value: Value) -> Value:
    if isinstance(value, Vector):
        return Vector(drop_names(value.labels), -value.values, value.present).refuse_duplicates()
    assert not isinstance(value, str)
    return -value


def _aggregated(expression: tree.AggregateExpr, scope: EvalContext) -> Vector:
    fold = FOLDS.get(str(expression.op))
    # For one step, holding all samples is fastest, and groups are computed once.
    stream = plan_streaming(expression.expr, scope, evaluate) if fold and len(scope.times) > 1 else None
    if fold and stream:
        grouper = Grouper(expression.modifier)
        partials = parts(stream, scope, lambda vector: start(fold, vector, grouper))
        return merge(fold, partials, len(scope.times))
    rolled = _rolled_aggregate(fold, expression, scope) if fold else None
    if rolled is not None:
        return rolled
    parameter = None if expression.param is None else evaluate(expression.param, scope)
    vector = evaluate(expression.expr, scope)
    assert isinstance(vector, Vector)
    return aggregate(expression, vector, parameter, scope.budget.spend)


def _rolled_aggregate(fold: Fold, expression: tree.AggregateExpr, scope: EvalContext) -> Vector | None:
    """Aggregate over rollups group by group, if they can answer the expression."""
    inner, grouper = unwrap(expression.expr), Grouper(expression.modifier)

    def finish(vector: Vector) -> PartialAggregation | None:
        assert isinstance(inner, tree.Call)
        keeps_name = RANGE_FUNCTIONS[inner.func.name].keeps_name
        labels = vector.labels if keeps_name else drop_names(vector.labels)
        return start(fold, vector._replace(labels=labels), grouper)

    partials = evaluate_parts(scope, inner, finish)
    return None if partials is None else merge(fold, partials, len(scope.times))


def _called(expression: tree.Call, scope: EvalContext) -> Value:
    name = expression.func.name
    row = chain_of(expression)
    if row:
        return _in_turn(row, scope)
    if name in RANGE_FUNCTIONS:
        return _of_range(RANGE_FUNCTIONS[name], expression, scope)
    if name == "info":
        return _with_info(expression, scope)
    if name == "absent_over_time":
        return _absent_over_time(expression.args[0], scope)
    inner = unwrap(expression.args[0]) if expression.args else None
    if name == "timestamp" and isinstance(inner, tree.VectorSelector):
        return sample_times(scope, inner)
    arguments = [evaluate(argument, scope) for argument in expression.args]
    if name == "absent" and isinstance(arguments[0], Vector):
        return absence(arguments[0].steps_with_any(), _required(inner))
    value = call(name, scope, arguments)
    if value is None:
        raise ExecutionError(f"function {name}() is not supported: {_why(name)}")
    return value


def _in_turn(row: OperatorChain, scope: EvalContext) -> Value:
    value = evaluate(row.first, scope)
    for operator, operand in row.rest:
        value = combine(operator, value, evaluate(operand, scope))
    return value


def _with_info(expression: tree.Call, scope: EvalContext) -> Vector:
    vector = evaluate(expression.args[0], scope)
    selector = expression.args[1] if len(expression.args) > 1 else None
    assert isinstance(vector, Vector)
    assert selector is None or isinstance(selector, tree.VectorSelector)
    return info(scope, vector, selector)


def _why(name: str) -> str:
    native = name.startswith("histogram_")
    return "native histograms are not stored" if native else "it is experimental in Prometheus"


def _of_range(function: RangeFunction, expression: tree.Call, scope: EvalContext) -> Vector:
    arguments = list(expression.args)
    source = unwrap(arguments.pop(function.range_at))
    assert isinstance(source, Range)
    parameters = []
    for argument in arguments:
        value = evaluate(argument, scope)
        assert isinstance(value, np.ndarray)
        parameters.append(value)
    rolled = evaluate_range(scope, expression.func.name, source)
    made = []
    if rolled is None or not rolled.steps.all():
        for block, window in windows(scope, source, evaluate):
            made.append(apply(function, block, window, parameters, scope.budget.check_time))
    vector = stack_vectors(made, len(scope.times))
    vector = vector if rolled is None else rolled.over(vector)
    if function.keeps_name:
        return vector
    bare = Vector(drop_names(vector.labels), vector.values, vector.present)
    return bare if len(metric_names(vector.labels)) <= 1 else bare.refuse_duplicates()


def _absent_over_time(argument: tree.Expr, scope: EvalContext) -> Vector:
    source = unwrap(argument)
    assert isinstance(source, Range)
    there = np.zeros(len(scope.times), dtype=np.bool_)
    for _, window in windows(scope, source, evaluate):
        there |= window.counts > 0
    rolled = evaluate_range(scope, "present_over_time", source)
    there |= False if rolled is None else rolled.vector.steps_with_any()
    selector = source.vector_selector if isinstance(source, tree.MatrixSelector) else None
    return absence(there, _required(selector))


def _required(selector: tree.Expr | None) -> dict[str, str]:
    """Return the labels of equality matchers; a label with several matchers is left out."""
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
