"""The query engine: instant and range queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from promql_parser import Expr, MatrixSelector, SubqueryExpr

from vigie.query.arrays import Floats, Times
from vigie.query.errors import BadDataError, ExecutionError
from vigie.query.eval_context import EvalContext
from vigie.query.evaluator import evaluate
from vigie.query.functions.sorting import label_sort_key
from vigie.query.limits import QueryBudget, QueryLimits
from vigie.query.parser.parse import parse
from vigie.query.range_vectors import Range, iter_windows, unwrap
from vigie.query.semantics import DEFAULT, Semantics
from vigie.query.storage import Labels, Storage
from vigie.query.subexpression_cache import SubexpressionCache
from vigie.query.vectors import Value, Vector, label_set_key, single_series

LOOKBACK_MS = 5 * 60_000
SUBQUERY_STEP_MS = 60_000


class ResultSeries(NamedTuple):
    """The samples of one series of a result; times in milliseconds."""

    labels: Labels
    times: Times
    values: Floats


class QueryResult(NamedTuple):
    """The result of a query; `kind` is vector, matrix, scalar or string, as in Prometheus's API."""

    kind: str
    series: list[ResultSeries]
    text: str = ""
    warnings: tuple[str, ...] = ()


class Engine:
    """Evaluates PromQL over a store."""

    def __init__(
        self,
        storage: Storage,
        limits: QueryLimits = QueryLimits(),  # noqa: B008 - immutable
        semantics: Semantics = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
        lookback: int = LOOKBACK_MS,
        shared: SubexpressionCache | None = None,
    ) -> None:
        self.budget = QueryBudget(limits, clock)  # of the last query
        self._lookback = lookback
        self._storage = storage
        self._limits = limits
        self._semantics = semantics
        self._clock = clock
        self._shared = shared

    def instant(self, query: str, at: int) -> QueryResult:
        """Evaluate a query at one time, in milliseconds."""
        expression = parse(query)
        context = self._context(np.array([at], dtype=np.int64), at, at)
        inner = unwrap(expression)
        if isinstance(inner, Range):
            with _limit_recursion():
                return QueryResult("matrix", _read_samples(context, inner))
        with _limit_recursion():
            result = _to_result(evaluate(expression, context), context.times)
        return result._replace(warnings=tuple(context.warnings))

    def range(self, query: str, start: int, end: int, step: int) -> QueryResult:
        """Evaluate a query at every step from start to end, in milliseconds."""
        context, value = self._evaluate_steps(query, start, end, step)
        return QueryResult("matrix", _to_matrix(value, context.times), warnings=tuple(context.warnings))

    def vector(self, query: str, start: int, end: int, step: int) -> tuple[Times, Vector]:
        """Evaluate a range query without ordering its series; with step 0, an instant query at start."""
        if step:
            context, value = self._evaluate_steps(query, start, end, step)
        else:
            context = self._context(np.array([start], dtype=np.int64), start, start)
            value = _evaluate_numeric(parse(query), context)
        if not isinstance(value, Vector):
            return context.times, single_series(value)
        return context.times, value.merge_rows() if len(context.times) > 1 else value

    def _evaluate_steps(
        self, query: str, start: int, end: int, step: int
    ) -> tuple[EvalContext, Vector | Floats]:
        if step <= 0:
            raise BadDataError(
                'invalid parameter "step": zero or negative query resolution step widths are not accepted. '
                "Try a positive integer"
            )
        if end < start:
            raise BadDataError('invalid parameter "end": end timestamp must not be before start time')
        if (end - start) // step > self._limits.points:
            raise BadDataError(
                f"exceeded maximum resolution of {self._limits.points:,} points per timeseries. "
                "Try decreasing the query resolution (?step=XX)"
            )
        expression = parse(query, step / 1000, (end - start) / 1000)
        context = self._context(np.arange(start, end + 1, step, dtype=np.int64), start, end, step)
        return context, _evaluate_numeric(expression, context)

    def _context(self, times: Times, start: int, end: int, step: int = 0) -> EvalContext:
        self.budget = QueryBudget(self._limits, self._clock)
        return EvalContext(
            self._storage,
            times,
            start,
            end,
            self.budget,
            self._semantics,
            self._lookback,
            SUBQUERY_STEP_MS,
            step,
            shared=self._shared,
        )


@contextmanager
def _limit_recursion() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise ExecutionError("the query is nested too deep to be evaluated") from None


def _evaluate_numeric(expression: Expr, context: EvalContext) -> Vector | Floats:
    inner = unwrap(expression)
    with _limit_recursion():
        value = (
            "range vector" if isinstance(inner, MatrixSelector | SubqueryExpr) else evaluate(inner, context)
        )
    if isinstance(value, str):
        kind = value if isinstance(inner, Range) else "string"
        raise BadDataError(
            f'invalid parameter "query": invalid expression type "{kind}" for range query, '
            "must be Scalar or instant Vector"
        )
    return value


def _to_result(value: Value, times: Times) -> QueryResult:
    if isinstance(value, str):
        return QueryResult("string", [], value)
    if isinstance(value, Vector):
        return QueryResult("vector", _to_series(value, times))
    return QueryResult("scalar", [ResultSeries({}, times, value)])


def _to_series(vector: Vector, times: Times) -> list[ResultSeries]:
    if len(vector.labels) and (vector.present == vector.present[0]).all():
        return _to_aligned_series(vector, times)
    return [
        ResultSeries(labels, times[present], values[present])
        for labels, values, present in zip(vector.labels, vector.values, vector.present, strict=True)
        if present.any()
    ]


def _to_aligned_series(vector: Vector, times: Times) -> list[ResultSeries]:
    """Return series with samples at the same steps; they share their times array, which encoders exploit."""
    steps, values = vector.present[0], vector.values
    if not steps.any():
        return []
    if not steps.all():
        times, values = times[steps], values[:, steps]
    return [ResultSeries(labels, times, row) for labels, row in zip(vector.labels, values, strict=True)]


def _to_matrix(value: Vector | Floats, times: Times) -> list[ResultSeries]:
    if not isinstance(value, Vector):
        return [ResultSeries({}, times, value)]
    return sorted(_to_series(value.merge_rows(), times), key=lambda series: label_sort_key(series.labels))


def _read_samples(context: EvalContext, expression: Range) -> list[ResultSeries]:
    found: Sequence[ResultSeries] = [
        ResultSeries(labels, window.times[low:high], values[low:high])
        for block, window in iter_windows(context, expression, evaluate)
        for low, high in [(int(window.low[0]), int(window.high[0]))]
        for labels, values in zip(block.labels, block.values, strict=True)
        if high > low
    ]
    assert len({label_set_key(series.labels) for series in found}) == len(found)
    return sorted(found, key=lambda series: label_sort_key(series.labels))
