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
from vigie.query.binary_ops.binary_ops import with_scalar
from vigie.query.binary_ops.operators import SETS
from vigie.query.block_batches import FEW, apply_to_many, newest_of_many
from vigie.query.eval_context import EvalContext, to_ms
from vigie.query.functions.instant import MATH
from vigie.query.functions.range_functions import RANGE_FUNCTIONS
from vigie.query.label_table import drop_names
from vigie.query.matchers import matchers_of, one_metric
from vigie.query.parallel import parallel_map
from vigie.query.range_vectors import Evaluate, unwrap
from vigie.query.rollups.evaluator import needs_rollups
from vigie.query.sample_blocks import SampleBlock, blocks_in
from vigie.query.selectors import newest_samples
from vigie.query.storage import Load, Matcher, ScannableStorage
from vigie.query.vectors import Vector
from vigie.query.windows import RangeFunction, apply, window_of

T = TypeVar("T")
Make = Callable[[Sequence[SampleBlock]], list[Vector]]

BIG = 1 << 17  # samples of a group from which threads pay
AT_ONCE = 1024  # small groups processed together
ENOUGH = 1 << 20  # samples of these groups


class StreamingPlan(NamedTuple):
    """The samples to read, and the function of each block."""

    matchers: list[Matcher]
    references: Times
    reach: int
    keep_stale: bool
    make: Make  # vectors of blocks, in order; blocks without samples may be left out


def plan_streaming(expression: tree.Expr, scope: EvalContext, evaluate: Evaluate) -> StreamingPlan | None:
    """Return how to evaluate an expression group by group; None if that is not possible."""
    if not isinstance(scope.storage, ScannableStorage) or not len(scope.times):
        return None
    return _of(unwrap(expression), scope, evaluate)


def parts(stream: StreamingPlan, scope: EvalContext, finish: Callable[[Vector], T]) -> Iterator[T]:
    """Yield a result per block, in the order of the store."""
    assert isinstance(scope.storage, ScannableStorage)
    start, end = int(stream.references.min()) - stream.reach, int(stream.references.max())
    loads = scope.storage.scan(stream.matchers, start, end)
    sizes: deque[int] = deque([BIG - 1], maxlen=1)  # of the largest group in the last task
    together = AT_ONCE if len(scope.times) == 1 else 1
    batches = _batches(loads, lambda: min(together, ENOUGH // sizes[0]) if sizes[0] <= FEW else 1)
    tasks = (partial(_made, batch, stream, scope, finish, sizes) for batch in batches)
    for made in parallel_map(tasks, worth=lambda: sizes[0] >= BIG):
        yield from made


def _batches(loads: Iterator[Load], most: Callable[[], int]) -> Iterator[list[Load]]:
    batch: list[Load] = []
    for load in loads:
        batch.append(load)
        if len(batch) >= most():
            yield batch
            batch = []
    if batch:
        yield batch


def _made(
    batch: Sequence[Load],
    stream: StreamingPlan,
    scope: EvalContext,
    finish: Callable[[Vector], T],
    sizes: deque[int],
) -> list[T]:
    groups = [group for load in batch if (group := load()) is not None]
    if not groups:
        return []
    sizes.append(max(1, *[group.values.size for group in groups]))
    with scope.budget.held(sum(group.values.size + len(group.labels) * len(scope.times) for group in groups)):
        blocks = [block for group in groups for block in blocks_in(group, keep_stale=stream.keep_stale)]
        return [finish(vector) for vector in stream.make(blocks)]


def _of(expression: tree.Expr, scope: EvalContext, evaluate: Evaluate) -> StreamingPlan | None:
    if needs_rollups(expression, scope):
        return None
    if isinstance(expression, tree.VectorSelector):
        return _selected(expression, scope)
    if isinstance(expression, tree.Call):
        return _called(expression, scope, evaluate)
    if isinstance(expression, tree.BinaryExpr):
        return _with_number(expression, scope, evaluate)
    return None


def _selected(selector: tree.VectorSelector, scope: EvalContext) -> StreamingPlan | None:
    matchers = matchers_of(selector)
    if not one_metric(matchers):
        return None
    references = scope.references(selector.at, selector.offset)

    def make(blocks: Sequence[SampleBlock]) -> list[Vector]:
        if len(blocks) > 1 and len(references) == 1:
            return [newest_of_many(blocks, int(references[0]), scope.lookback, scope.semantics)]
        return [newest_samples(block, references, scope)[0] for block in blocks]

    return StreamingPlan(matchers, references, scope.lookback, True, make)


def _called(expression: tree.Call, scope: EvalContext, evaluate: Evaluate) -> StreamingPlan | None:
    name = expression.func.name
    if name in MATH:
        inner = _of(unwrap(expression.args[0]), scope, evaluate)
        return None if inner is None else _then(inner, lambda vector: vector.map(MATH[name]))
    function = RANGE_FUNCTIONS.get(name)
    if function is None:
        return None
    arguments = list(expression.args)
    source = unwrap(arguments.pop(function.range_at))
    if not isinstance(source, tree.MatrixSelector):
        return None
    matchers = matchers_of(source.vector_selector)
    if not one_metric(matchers):
        return None
    return _ranged(function, source, matchers, [_number(each, scope, evaluate) for each in arguments], scope)


def _ranged(
    function: RangeFunction,
    source: tree.MatrixSelector,
    matchers: list[Matcher],
    parameters: list[Floats],
    scope: EvalContext,
) -> StreamingPlan:
    selector = source.vector_selector
    references = scope.references(selector.at, selector.offset)
    length = to_ms(source.range)

    def each(block: SampleBlock) -> Vector:
        window = window_of(block, references, scope.times, length, scope.semantics)
        return apply(function, block, window, parameters, scope.budget.check_time)

    def make(blocks: Sequence[SampleBlock]) -> list[Vector]:
        if len(blocks) > 1 and len(references) == 1 and function.together:
            whole = apply_to_many(
                function,
                blocks,
                references,
                scope.times,
                length,
                scope.semantics,
                parameters,
                scope.budget.check_time,
            )
            vectors = [whole] if len(whole.labels) else []
        else:
            vectors = [each(block) for block in blocks]
        if function.keeps_name:
            return vectors
        return [Vector(drop_names(labels), values, present) for labels, values, present in vectors]

    return StreamingPlan(matchers, references, length, False, make)


def _with_number(expression: tree.BinaryExpr, scope: EvalContext, evaluate: Evaluate) -> StreamingPlan | None:
    operator = str(expression.op)
    left, right = unwrap(expression.lhs), unwrap(expression.rhs)
    swapped = isinstance(left, tree.NumberLiteral)
    if operator in SETS or swapped == isinstance(right, tree.NumberLiteral):
        return None
    inner = _of(right if swapped else left, scope, evaluate)
    if inner is None:
        return None
    number = _number(left if swapped else right, scope, evaluate)
    as_bool = expression.modifier is not None and expression.modifier.return_bool
    return _then(
        inner, lambda vector: with_scalar(operator, vector, number, as_bool=as_bool, swapped=swapped)
    )


def _then(inner: StreamingPlan, function: Callable[[Vector], Vector]) -> StreamingPlan:
    make = inner.make
    return inner._replace(make=lambda blocks: [function(vector) for vector in make(blocks)])


def _number(expression: tree.Expr, scope: EvalContext, evaluate: Evaluate) -> Floats:
    value = evaluate(expression, scope)
    assert isinstance(value, np.ndarray)
    return value
