"""Evaluates an expression group by group, in several threads, where no step needs the whole vector.

A selector of one metric, a range function of it, and arithmetic with numbers on either treat each series
alone. Their groups are read, decompressed and computed by a few threads, and an aggregation keeps only
partial results: a query over half a million series never holds them all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import promql_parser as tree

from vigie.query.arrays import Floats, Times
from vigie.query.binary_ops.binary_ops import apply_scalar
from vigie.query.binary_ops.operators import SETS
from vigie.query.block_batches import MAX_STACKED, apply_to_many, newest_of_blocks
from vigie.query.eval_context import EvalContext, to_milliseconds
from vigie.query.functions.instant import MATH
from vigie.query.functions.range_functions import RANGE_FUNCTIONS
from vigie.query.label_table import drop_names
from vigie.query.matchers import matchers_of, selects_one_metric
from vigie.query.parallel import parallel_map
from vigie.query.range_vectors import Evaluate, unwrap
from vigie.query.rollups.evaluator import needs_rollups
from vigie.query.sample_blocks import SampleBlock, split_group
from vigie.query.selectors import newest_samples
from vigie.query.storage import Load, Matcher, ScannableStorage
from vigie.query.vectors import Vector
from vigie.query.windows import RangeFunction, apply, build_window

T = TypeVar("T")
BuildVectors = Callable[[Sequence[SampleBlock]], list[Vector]]

MIN_THREADED = 1 << 17  # samples of a group from which threads pay
MAX_BATCH_GROUPS = 1024  # small groups processed together
MAX_BATCH_SAMPLES = 1 << 20  # samples of these groups


class StreamingPlan(NamedTuple):
    """The samples to read, and the function of each block."""

    matchers: list[Matcher]
    references: Times
    lookback_ms: int
    keep_stale: bool
    build: BuildVectors  # vectors of blocks, in order; blocks without samples may be left out


def plan_streaming(expression: tree.Expr, context: EvalContext, evaluate: Evaluate) -> StreamingPlan | None:
    """Return how to evaluate an expression group by group; None if that is not possible."""
    if not isinstance(context.storage, ScannableStorage) or not len(context.times):
        return None
    return _plan(unwrap(expression), context, evaluate)


def evaluate_stream(
    stream: StreamingPlan, context: EvalContext, finish: Callable[[Vector], T]
) -> Iterator[T]:
    """Yield a result per block, in the order of the store."""
    assert isinstance(context.storage, ScannableStorage)
    start, end = int(stream.references.min()) - stream.lookback_ms, int(stream.references.max())
    loads = context.storage.scan(stream.matchers, start, end)
    sizes: deque[int] = deque([MIN_THREADED - 1], maxlen=1)  # of the largest group in the last task
    max_groups = MAX_BATCH_GROUPS if len(context.times) == 1 else 1
    batches = _batch_loads(
        loads, lambda: min(max_groups, MAX_BATCH_SAMPLES // sizes[0]) if sizes[0] <= MAX_STACKED else 1
    )
    tasks = (partial(_evaluate_batch, batch, stream, context, finish, sizes) for batch in batches)
    for results in parallel_map(tasks, worth=lambda: sizes[0] >= MIN_THREADED):
        yield from results


def _batch_loads(loads: Iterator[Load], max_size: Callable[[], int]) -> Iterator[list[Load]]:
    batch: list[Load] = []
    for load in loads:
        batch.append(load)
        if len(batch) >= max_size():
            yield batch
            batch = []
    if batch:
        yield batch


def _evaluate_batch(
    batch: Sequence[Load],
    stream: StreamingPlan,
    context: EvalContext,
    finish: Callable[[Vector], T],
    sizes: deque[int],
) -> list[T]:
    groups = [group for load in batch if (group := load()) is not None]
    if not groups:
        return []
    sizes.append(max(1, *[group.values.size for group in groups]))
    with context.budget.hold(
        sum(group.values.size + len(group.labels) * len(context.times) for group in groups)
    ):
        blocks = [block for group in groups for block in split_group(group, keep_stale=stream.keep_stale)]
        return [finish(vector) for vector in stream.build(blocks)]


def _plan(expression: tree.Expr, context: EvalContext, evaluate: Evaluate) -> StreamingPlan | None:
    if needs_rollups(expression, context):
        return None
    if isinstance(expression, tree.VectorSelector):
        return _plan_selector(expression, context)
    if isinstance(expression, tree.Call):
        return _plan_call(expression, context, evaluate)
    if isinstance(expression, tree.BinaryExpr):
        return _plan_scalar(expression, context, evaluate)
    return None


def _plan_selector(selector: tree.VectorSelector, context: EvalContext) -> StreamingPlan | None:
    matchers = matchers_of(selector)
    if not selects_one_metric(matchers):
        return None
    references = context.references(selector.at, selector.offset)

    def build(blocks: Sequence[SampleBlock]) -> list[Vector]:
        if len(blocks) > 1 and len(references) == 1:
            return [newest_of_blocks(blocks, int(references[0]), context.lookback, context.semantics)]
        return [newest_samples(block, references, context)[0] for block in blocks]

    return StreamingPlan(matchers, references, context.lookback, True, build)


def _plan_call(expression: tree.Call, context: EvalContext, evaluate: Evaluate) -> StreamingPlan | None:
    name = expression.func.name
    if name in MATH:
        inner = _plan(unwrap(expression.args[0]), context, evaluate)
        return None if inner is None else _map_vectors(inner, lambda vector: vector.map(MATH[name]))
    function = RANGE_FUNCTIONS.get(name)
    if function is None:
        return None
    arguments = list(expression.args)
    source = unwrap(arguments.pop(function.range_argument))
    if not isinstance(source, tree.MatrixSelector):
        return None
    matchers = matchers_of(source.vector_selector)
    if not selects_one_metric(matchers):
        return None
    return _plan_range(
        function, source, matchers, [_evaluate_number(each, context, evaluate) for each in arguments], context
    )


def _plan_range(
    function: RangeFunction,
    source: tree.MatrixSelector,
    matchers: list[Matcher],
    parameters: list[Floats],
    context: EvalContext,
) -> StreamingPlan:
    selector = source.vector_selector
    references = context.references(selector.at, selector.offset)
    length = to_milliseconds(source.range)

    def each(block: SampleBlock) -> Vector:
        window = build_window(block, references, context.times, length, context.semantics)
        return apply(function, block, window, parameters, context.budget.check_time)

    def build(blocks: Sequence[SampleBlock]) -> list[Vector]:
        if len(blocks) > 1 and len(references) == 1 and function.stackable:
            whole = apply_to_many(
                function,
                blocks,
                references,
                context.times,
                length,
                context.semantics,
                parameters,
                context.budget.check_time,
            )
            vectors = [whole] if len(whole.labels) else []
        else:
            vectors = [each(block) for block in blocks]
        if function.keeps_name:
            return vectors
        return [Vector(drop_names(labels), values, present) for labels, values, present in vectors]

    return StreamingPlan(matchers, references, length, False, build)


def _plan_scalar(
    expression: tree.BinaryExpr, context: EvalContext, evaluate: Evaluate
) -> StreamingPlan | None:
    operator = str(expression.op)
    left, right = unwrap(expression.lhs), unwrap(expression.rhs)
    swapped = isinstance(left, tree.NumberLiteral)
    if operator in SETS or swapped == isinstance(right, tree.NumberLiteral):
        return None
    inner = _plan(right if swapped else left, context, evaluate)
    if inner is None:
        return None
    number = _evaluate_number(left if swapped else right, context, evaluate)
    as_bool = expression.modifier is not None and expression.modifier.return_bool
    return _map_vectors(
        inner, lambda vector: apply_scalar(operator, vector, number, as_bool=as_bool, swapped=swapped)
    )


def _map_vectors(inner: StreamingPlan, function: Callable[[Vector], Vector]) -> StreamingPlan:
    build = inner.build
    return inner._replace(build=lambda blocks: [function(vector) for vector in build(blocks)])


def _evaluate_number(expression: tree.Expr, context: EvalContext, evaluate: Evaluate) -> Floats:
    value = evaluate(expression, context)
    assert isinstance(value, np.ndarray)
    return value
