"""Evaluates over rollups where raw samples have expired, or where that gives the same result.

While raw samples exist, rollups are used only if a range has at least two buckets and a step at least one,
and every range starts and ends at bucket boundaries: then it holds the same samples. Where raw samples have
expired, a range is rounded to whole buckets: both limits move back to the end of a bucket, by less than one
bucket, and a range shorter than a bucket becomes one. An instant selector sees the last sample of buckets
that ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from promql_parser import Call, Expr, MatrixSelector, VectorSelector

from vigie.query.arrays import Flags, Times
from vigie.query.buckets import merge_spans
from vigie.query.eval_context import EvalContext, to_milliseconds
from vigie.query.matchers import matchers_of, selects_one_metric
from vigie.query.parallel import parallel_map
from vigie.query.range_vectors import Range, unwrap
from vigie.query.rollups.functions import LAST, ROLLUP_FUNCTIONS, BucketSpan, RollupFunction
from vigie.query.storage import RollupGroup, RollupStorage
from vigie.query.vectors import Vector, empty_vector, stack_vectors

T = TypeVar("T")
MIN_STEP, MIN_RANGE = 1, 2  # buckets, for rollups to be used while raw samples exist


class RollupResult(NamedTuple):
    """The steps evaluated over rollups, and their values."""

    vector: Vector
    steps: Flags

    def merge_raw(self, raw: Vector) -> Vector:
        """Merge with the values from raw samples."""
        rest = Vector(raw.labels, raw.values, raw.present & ~self.steps).without_empty_rows()
        return stack_vectors([rest, self.vector], len(self.steps)).merge_rows()


class RollupChoice(NamedTuple):
    """The steps to evaluate over rollups, and the width of the buckets."""

    steps: Flags
    references: Times
    length: int
    width: int
    expired: bool


def needs_rollups(expression: Expr, context: EvalContext) -> bool:
    """Report whether a selector, or a range function, needs rollups."""
    if isinstance(expression, VectorSelector):
        return _choose_instant(context, expression) is not None
    if not isinstance(expression, Call):
        return False
    name, sources = expression.func.name, [unwrap(each) for each in expression.args]
    matrices = [source for source in sources if isinstance(source, MatrixSelector)]
    return any(_choose_range(context, name, source) is not None for source in matrices)


def evaluate_range(context: EvalContext, name: str, source: Range) -> RollupResult | None:
    """Evaluate a range function over rollups; None if raw samples are enough."""
    if not isinstance(source, MatrixSelector):
        return None
    choice, function = _choose_range(context, name, source), ROLLUP_FUNCTIONS.get(name)
    if choice is None:
        return None
    if function is None:
        return _warn_unsupported(context, f"{name}()", choice.steps)
    _warn_rollups(context, f"{name}() is answered", choice)
    limits = _bucket_limits(choice.references[choice.steps], choice.length, choice.width)
    return _evaluate(context, source.vector_selector, function, choice, *limits)


def evaluate_parts(
    context: EvalContext, expression: Expr, finish: Callable[[Vector], T]
) -> Iterator[T] | None:
    """Yield a result per group, if rollups can evaluate a function of one metric's range at all steps."""
    if not isinstance(expression, Call) or len(expression.args) != 1:
        return None
    source, function = unwrap(expression.args[0]), ROLLUP_FUNCTIONS.get(expression.func.name)
    if function is None or not isinstance(source, MatrixSelector):
        return None
    choice = _choose_range(context, expression.func.name, source)
    matchers = matchers_of(source.vector_selector)
    if choice is None or not choice.steps.all() or not selects_one_metric(matchers):
        return None
    _warn_rollups(context, f"{expression.func.name}() is answered", choice)
    begins, ends = _bucket_limits(choice.references, choice.length, choice.width)
    assert isinstance(context.storage, RollupStorage)
    groups = context.storage.rollups(
        matchers, int(begins.min()), int(ends.max()), choice.width, function.needs
    )

    def evaluate_one(group: RollupGroup) -> T:
        with context.budget.hold(_size(group, choice)):
            return finish(_evaluate_group(group, function, choice, begins, ends))

    return parallel_map((partial(evaluate_one, group) for group in groups), worth=lambda: True)


def evaluate_instant(context: EvalContext, selector: VectorSelector) -> RollupResult | None:
    """Evaluate an instant selector over rollups where raw samples have expired; None if nowhere."""
    choice = _choose_instant(context, selector)
    if choice is None:
        return None
    ends = choice.references[choice.steps] // choice.width * choice.width
    begins = ends - -(-context.lookback // choice.width) * choice.width
    _warn_rollups(context, f"{selector.name or 'a selector'} is answered", choice)
    return _evaluate(context, selector, LAST, choice, begins, ends)


def _choose_range(context: EvalContext, name: str, source: MatrixSelector) -> RollupChoice | None:
    assert source.range is not None
    selector, length = source.vector_selector, to_milliseconds(source.range)
    references = context.references(selector.at, selector.offset)
    if not isinstance(context.storage, RollupStorage) or not len(references):
        return None
    width = _widest_exact(context, references, length) if name in ROLLUP_FUNCTIONS else None
    return _choose(context.storage, references, length, width)


def _choose_instant(context: EvalContext, selector: VectorSelector) -> RollupChoice | None:
    references = context.references(selector.at, selector.offset)
    if not isinstance(context.storage, RollupStorage) or not len(references):
        return None
    return _choose(context.storage, references, context.lookback, None)


def _choose(storage: RollupStorage, references: Times, length: int, width: int | None) -> RollupChoice | None:
    expired = references - length + 1 < storage.raw_since()
    if width is not None:
        return RollupChoice(
            np.ones(len(references), dtype=np.bool_), references, length, width, bool(expired.any())
        )
    if not expired.any():
        return None
    width = _finest_width(storage, int(references.min()) - length)
    return RollupChoice(expired, references, length, width, expired=True)


def _widest_exact(context: EvalContext, references: Times, length: int) -> int | None:
    """Return the widest buckets that give the same result as raw samples."""
    assert isinstance(context.storage, RollupStorage)
    if len(references) < 2 or not context.semantics.left_open:
        return None
    step = int(np.diff(references).min())
    for width in reversed(context.storage.rollup_widths()):
        enough = step >= MIN_STEP * width and length >= MIN_RANGE * width
        if enough and length % width == 0 and not (references % width).any():
            return width
    return None


def _finest_width(storage: RollupStorage, begin: int) -> int:
    widths = storage.rollup_widths()
    return next((width for width in widths if storage.rollups_since(width) <= begin), widths[-1])


def _bucket_limits(references: Times, length: int, width: int) -> tuple[Times, Times]:
    ends = references // width * width
    begins = (references - length) // width * width
    return np.minimum(begins, ends - width), ends


def _evaluate(
    context: EvalContext,
    selector: VectorSelector,
    function: RollupFunction,
    choice: RollupChoice,
    begins: Times,
    ends: Times,
) -> RollupResult:
    assert isinstance(context.storage, RollupStorage)
    start, stop, width = int(begins.min()), int(ends.max()), choice.width
    parts = []
    for group in context.storage.rollups(matchers_of(selector), start, stop, width, function.needs):
        context.budget.spend(_size(group, choice))
        parts.append(_evaluate_group(group, function, choice, begins, ends))
    return RollupResult(stack_vectors(parts, len(choice.steps)), choice.steps)


def _size(group: RollupGroup, choice: RollupChoice) -> int:
    return len(group.labels) * (len(group.buckets.ends) + len(choice.steps))


def _evaluate_group(
    group: RollupGroup, function: RollupFunction, choice: RollupChoice, begins: Times, ends: Times
) -> Vector:
    steps, start = choice.steps, int(begins.min())
    low, high = (begins - start) // choice.width, (ends - start) // choice.width
    samples = merge_spans(group.buckets, low, high, function.needs)
    with np.errstate(all="ignore"):
        evaluate_one = function.kernel(BucketSpan(samples, begins, ends, choice.length))
    shape = (len(group.labels), len(steps))
    values, present = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    values[:, steps] = evaluate_one
    present[:, steps] = samples.count >= function.min_samples
    return Vector(group.labels, values, present).without_empty_rows()


def _warn_unsupported(context: EvalContext, what: str, expired: Flags) -> RollupResult | None:
    if not expired.any():
        return None
    context.warn(
        f"{what} needs raw samples, kept since {_format_raw_since(context)}: steps that look further "
        "back are left out; rate, increase, delta and min, max, sum, avg, count, first, last and "
        "present_over_time can be answered there"
    )
    return RollupResult(empty_vector(len(expired)), expired)


def _warn_rollups(context: EvalContext, what: str, choice: RollupChoice) -> None:
    why = f" where raw samples have gone (kept since {_format_raw_since(context)})" if choice.expired else ""
    context.warn(f"{what} from rollups of {choice.width // 60_000} min{why}")


def _format_raw_since(context: EvalContext) -> str:
    assert isinstance(context.storage, RollupStorage)
    return datetime.fromtimestamp(context.storage.raw_since() / 1000, UTC).isoformat(timespec="seconds")
