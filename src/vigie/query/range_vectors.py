"""Range vectors: the samples of a matrix selector or a subquery, with their windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from promql_parser import Expr, MatrixSelector, ParenExpr, SubqueryExpr

from vigie.query.arrays import Times
from vigie.query.eval_context import EvalContext, to_milliseconds
from vigie.query.sample_blocks import SampleBlock, split_by_holes, split_groups
from vigie.query.selectors import select
from vigie.query.storage import SeriesGroup
from vigie.query.vectors import Value, Vector
from vigie.query.windows import Window, build_window

Evaluate = Callable[[Expr, EvalContext], Value]
Range = MatrixSelector | SubqueryExpr


def unwrap(expression: Expr) -> Expr:
    """Strip parentheses."""
    while isinstance(expression, ParenExpr):
        expression = expression.expr
    return expression


def iter_windows(
    context: EvalContext, expression: Range, evaluate: Evaluate
) -> Iterator[tuple[SampleBlock, Window]]:
    """Yield the blocks of a range vector, each with the window that ends at each step."""
    if not len(context.times):
        return
    assert expression.range is not None
    length = to_milliseconds(expression.range)
    if isinstance(expression, SubqueryExpr):
        references = context.references(expression.at, expression.offset)
        blocks = _subquery(context, expression, references, length, evaluate)
    else:
        selector = expression.vector_selector
        references = context.references(selector.at, selector.offset)
        blocks = split_groups(select(context, selector, references, length), keep_stale=False)
    for block in blocks:
        context.budget.spend(len(block.labels) * len(references))
        yield block, build_window(block, references, context.times, length, context.semantics)


def _subquery(
    context: EvalContext, query: SubqueryExpr, references: Times, length: int, evaluate: Evaluate
) -> Iterator[SampleBlock]:
    step = to_milliseconds(query.step) if query.step else context.default_step
    begin, end = int(references.min()) - length, int(references.max())
    first = -(-begin // step) * step
    if context.semantics.left_open and first == begin:
        first += step
    context.budget.spend(max(0, (end - first) // step + 1))  # before the times are allocated
    inner = context.at(np.arange(first, end + 1, step, dtype=np.int64))
    vector = evaluate(query.expr, inner)
    assert isinstance(vector, Vector)
    context.budget.spend(vector.values.size)
    return split_by_holes(SeriesGroup(vector.labels, inner.times, vector.values), vector.present)
