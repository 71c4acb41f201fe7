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
from vigie.query.functions.instant import absent_series, call
from vigie.query.functions.range_functions import RANGE_FUNCTIONS
from vigie.query.label_table import NAME, drop_names, metric_names
from vigie.query.matchers import matchers_of
from vigie.query.parser.long_expressions import OperatorChain, find_chain
from vigie.query.range_vectors import Range, iter_windows, unwrap
from vigie.query.rollups.evaluator import evaluate_instant, evaluate_parts, evaluate_range
from vigie.query.selectors import sample_times, select_instant
from vigie.query.streaming import StreamingPlan, evaluate_stream, plan_streaming
from vigie.query.vectors import Value, Vector, stack_vectors
from vigie.query.windows import RangeFunction, apply


def evaluate(expression: tree.Expr, context: EvalContext) -> Value:
    expression = unwrap(expression)
    context.budget.check_time()
    if context.shared is None:
        return _evaluate_node(expression, context)
    return context.shared.value(expression, context.times, partial(_evaluate_node, expression, context))


def _evaluate_node(expression: tree.Expr, context: EvalContext) -> Value:
    stream = plan_streaming(expression, context, evaluate)
    if stream:
        return _evaluate_streaming(stream, context)
    match expression:
        case tree.NumberLiteral():
            return np.full(len(context.times), expression.val)
        case tree.StringLiteral():
            return expression.val
        case tree.VectorSelector():
            return _evaluate_selector(expression, context)
        case tree.UnaryExpr():
            return _negate(evaluate(expression.expr, context))
        case tree.BinaryExpr():
            left = evaluate(expression.lhs, context)
            if context.shared and _is_surely_empty(expression, left):
                return left
            return combine(expression, left, evaluate(expression.rhs, context))
        case tree.AggregateExpr():
            return _evaluate_aggregation(expression, context)
        case tree.Call():
            return _evaluate_call(expression, context)
    raise ExecutionError(f"unhandled expression of type {type(expression).__name__}")


def _is_surely_empty(expression: tree.BinaryExpr, left: Value) -> bool:
    """Report whether the result is empty, whatever the right operand is."""
    return str(expression.op) != "or" and isinstance(left, Vector) and not len(left.labels)


def _evaluate_streaming(stream: StreamingPlan, context: EvalContext) -> Vector:
    def count_samples(vector: Vector) -> Vector:
        context.budget.spend(vector.values.size)
        return vector

    return stack_vectors(evaluate_stream(stream, context, count_samples), len(context.times))


def _evaluate_selector(selector: tree.VectorSelector, context: EvalContext) -> Vector:
    rollup = evaluate_instant(context, selector)
    if rollup is None:
        return select_instant(context, selector)
    return rollup.vector if rollup.steps.all() else rollup.merge_raw(select_instant(context, selector))


def _negate(value: Value) -> Value:
    if isinstance(value, Vector):
        return Vector(drop_names(value.labels), -value.values, value.present).refuse_duplicates()
    assert not isinstance(value, str)
    return -value


def _evaluate_aggregation(expression: tree.AggregateExpr, context: EvalContext) -> Vector:
    fold = FOLDS.get(str(expression.op))
    # For one step, holding all samples is fastest, and groups are computed once.
    stream = plan_streaming(expression.expr, context, evaluate) if fold and len(context.times) > 1 else None
    if fold and stream:
        grouper = Grouper(expression.modifier)
        partials = evaluate_stream(stream, context, lambda vector: start(fold, vector, grouper))
        return merge(fold, partials, len(context.times))
    rollup = _aggregate_rollups(fold, expression, context) if fold else None
    if rollup is not None:
        return rollup
    parameter = None if expression.param is None else evaluate(expression.param, context)
    vector = evaluate(expression.expr, context)
    assert isinstance(vector, Vector)
    return aggregate(expression, vector, parameter, context.budget.spend)


def _aggregate_rollups(fold: Fold, expression: tree.AggregateExpr, context: EvalContext) -> Vector | None:
    """Aggregate over rollups group by group, if they can answer the expression."""
    inner, grouper = unwrap(expression.expr), Grouper(expression.modifier)

    def finish(vector: Vector) -> PartialAggregation | None:
        assert isinstance(inner, tree.Call)
        keeps_name = RANGE_FUNCTIONS[inner.func.name].keeps_name
        labels = vector.labels if keeps_name else drop_names(vector.labels)
        return start(fold, vector._replace(labels=labels), grouper)

    partials = evaluate_parts(context, inner, finish)
    return None if partials is None else merge(fold, partials, len(context.times))


def _evaluate_call(expression: tree.Call, context: EvalContext) -> Value:
    name = expression.func.name
    operators = find_chain(expression)
    if operators:
        return _evaluate_chain(operators, context)
    if name in RANGE_FUNCTIONS:
        return _evaluate_range(RANGE_FUNCTIONS[name], expression, context)
    if name == "info":
        return _evaluate_info(expression, context)
    if name == "absent_over_time":
        return _absent_over_time(expression.args[0], context)
    inner = unwrap(expression.args[0]) if expression.args else None
    if name == "timestamp" and isinstance(inner, tree.VectorSelector):
        return sample_times(context, inner)
    arguments = [evaluate(argument, context) for argument in expression.args]
    if name == "absent" and isinstance(arguments[0], Vector):
        return absent_series(arguments[0].steps_with_any(), _equality_labels(inner))
    value = call(name, context, arguments)
    if value is None:
        raise ExecutionError(f"function {name}() is not supported: {_explain_unsupported(name)}")
    return value


def _evaluate_chain(operators: OperatorChain, context: EvalContext) -> Value:
    value = evaluate(operators.first, context)
    for operator, operand in operators.rest:
        value = combine(operator, value, evaluate(operand, context))
    return value


def _evaluate_info(expression: tree.Call, context: EvalContext) -> Vector:
    vector = evaluate(expression.args[0], context)
    selector = expression.args[1] if len(expression.args) > 1 else None
    assert isinstance(vector, Vector)
    assert selector is None or isinstance(selector, tree.VectorSelector)
    return info(context, vector, selector)


def _explain_unsupported(name: str) -> str:
    native = name.startswith("histogram_")
    return "native histograms are not stored" if native else "it is experimental in Prometheus"


def _evaluate_range(function: RangeFunction, expression: tree.Call, context: EvalContext) -> Vector:
    arguments = list(expression.args)
    source = unwrap(arguments.pop(function.range_argument))
    assert isinstance(source, Range)
    parameters = []
    for argument in arguments:
        value = evaluate(argument, context)
        assert isinstance(value, np.ndarray)
        parameters.append(value)
    rollup = evaluate_range(context, expression.func.name, source)
    vectors = []
    if rollup is None or not rollup.steps.all():
        for block, window in iter_windows(context, source, evaluate):
            vectors.append(apply(function, block, window, parameters, context.budget.check_time))
    vector = stack_vectors(vectors, len(context.times))
    vector = vector if rollup is None else rollup.merge_raw(vector)
    if function.keeps_name:
        return vector
    bare = Vector(drop_names(vector.labels), vector.values, vector.present)
    return bare if len(metric_names(vector.labels)) <= 1 else bare.refuse_duplicates()


def _absent_over_time(argument: tree.Expr, context: EvalContext) -> Vector:
    source = unwrap(argument)
    assert isinstance(source, Range)
    present = np.zeros(len(context.times), dtype=np.bool_)
    for _, window in iter_windows(context, source, evaluate):
        present |= window.counts > 0
    rollup = evaluate_range(context, "present_over_time", source)
    present |= False if rollup is None else rollup.vector.steps_with_any()
    selector = source.vector_selector if isinstance(source, tree.MatrixSelector) else None
    return absent_series(present, _equality_labels(selector))


def _equality_labels(selector: tree.Expr | None) -> dict[str, str]:
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
