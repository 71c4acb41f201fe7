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
from vigie.query.buckets import spans
from vigie.query.eval_context import EvalContext, to_ms
from vigie.query.matchers import matchers_of, one_metric
from vigie.query.parallel import parallel_map
from vigie.query.range_vectors import Range, unwrap
from vigie.query.rollups.functions import LAST, ROLLED_FUNCTIONS, BucketSpan, RollupFunction
from vigie.query.storage import RollupGroup, RollupStorage
from vigie.query.vectors import Vector, empty, stack_vectors

T = TypeVar("T")
LEAST_STEP, LEAST_RANGE = 1, 2  # buckets, for rollups to be used while raw samples exist


class RollupAnswer(NamedTuple):
    """The steps evaluated over rollups, and their values."""

    vector: Vector
    steps: Flags

    def over(self, raw: Vector) -> Vector:
        """Merge with the values from raw samples."""
        rest = Vector(raw.labels, raw.values, raw.present & ~self.steps).without_empty_rows()
        return stack_vectors([rest, self.vector], len(self.steps)).merged()


class RollupChoice(NamedTuple):
    """The steps to evaluate over rollups, and the width of the buckets."""

    steps: Flags
    references: Times
    length: int
    width: int
    gone: bool


def needs_rollups(expression: Expr, scope: EvalContext) -> bool:
    """Report whether a selector, or a range function, needs rollups."""
    if isinstance(expression, VectorSelector):
        return _choice_of_instant(scope, expression) is not None
    if not isinstance(expression, Call):
        return False
    name, sources = expression.func.name, [unwrap(each) for each in expression.args]
    matrices = [source for source in sources if isinstance(source, MatrixSelector)]
    return any(_choice_of_range(scope, name, source) is not None for source in matrices)


def evaluate_range(scope: EvalContext, name: str, source: Range) -> RollupAnswer | None:
    """Evaluate a range function over rollups; None if raw samples are enough."""
    if not isinstance(source, MatrixSelector):
        return None
    choice, function = _choice_of_range(scope, name, source), ROLLED_FUNCTIONS.get(name)
    if choice is None:
        return None
    if function is None:
        return _unanswered(scope, f"{name}()", choice.steps)
    _say(scope, f"{name}() is answered", choice)
    limits = _limits(choice.references[choice.steps], choice.length, choice.width)
    return _evaluated(scope, source.vector_selector, function, choice, *limits)


def evaluate_parts(scope: EvalContext, expression: Expr, finish: Callable[[Vector], T]) -> Iterator[T] | None:
    """Yield a result per group, if rollups can evaluate a function of one metric's range at all steps."""
    if not isinstance(expression, Call) or len(expression.args) != 1:
        return None
    source, function = unwrap(expression.args[0]), ROLLED_FUNCTIONS.get(expression.func.name)
    if function is None or not isinstance(source, MatrixSelector):
        return None
    choice = _choice_of_range(scope, expression.func.name, source)
    matchers = matchers_of(source.vector_selector)
    if choice is None or not choice.steps.all() or not one_metric(matchers):
        return None
    _say(scope, f"{expression.func.name}() is answered", choice)
    begins, ends = _limits(choice.references, choice.length, choice.width)
    assert isinstance(scope.storage, RollupStorage)
    groups = scope.storage.rollups(matchers, int(begins.min()), int(ends.max()), choice.width, function.needs)

    def made(group: RollupGroup) -> T:
        with scope.budget.held(_size(group, choice)):
            return finish(_spanned(group, function, choice, begins, ends))

    return parallel_map((partial(made, group) for group in groups), worth=lambda: True)


def evaluate_instant(scope: EvalContext, selector: VectorSelector) -> RollupAnswer | None:
    """Evaluate an instant selector over rollups where raw samples have expired; None if nowhere."""
    choice = _choice_of_instant(scope, selector)
    if choice is None:
        return None
    ends = choice.references[choice.steps] // choice.width * choice.width
    begins = ends - -(-scope.lookback // choice.width) * choice.width
    _say(scope, f"{selector.name or 'a selector'} is answered", choice)
    return _evaluated(scope, selector, LAST, choice, begins, ends)


def _choice_of_range(scope: EvalContext, name: str, source: MatrixSelector) -> RollupChoice | None:
    assert source.range is not None
    selector, length = source.vector_selector, to_ms(source.range)
    references = scope.references(selector.at, selector.offset)
    if not isinstance(scope.storage, RollupStorage) or not len(references):
        return None
    width = _same_from(scope, references, length) if name in ROLLED_FUNCTIONS else None
    return _choice(scope.storage, references, length, width)


def _choice_of_instant(scope: EvalContext, selector: VectorSelector) -> RollupChoice | None:
    references = scope.references(selector.at, selector.offset)
    if not isinstance(scope.storage, RollupStorage) or not len(references):
        return None
    return _choice(scope.storage, references, scope.lookback, None)


def _choice(storage: RollupStorage, references: Times, length: int, width: int | None) -> RollupChoice | None:
    gone = references - length + 1 < storage.raw_since()
    if width is not None:
        return RollupChoice(
            np.ones(len(references), dtype=np.bool_), references, length, width, bool(gone.any())
        )
    if not gone.any():
        return None
    width = _finest(storage, int(references.min()) - length)
    return RollupChoice(gone, references, length, width, gone=True)


def _same_from(scope: EvalContext, references: Times, length: int) -> int | None:
    """Return the widest buckets that give the same result as raw samples."""
    assert isinstance(scope.storage, RollupStorage)
    if len(references) < 2 or not scope.semantics.left_open:
        return None
    step = int(np.diff(references).min())
    for width in reversed(scope.storage.rollup_widths()):
        enough = step >= LEAST_STEP * width and length >= LEAST_RANGE * width
        if enough and length % width == 0 and not (references % width).any():
            return width
    return None


def _finest(storage: RollupStorage, begin: int) -> int:
    widths = storage.rollup_widths()
    return next((width for width in widths if storage.rollups_since(width) <= begin), widths[-1])


def _limits(references: Times, length: int, width: int) -> tuple[Times, Times]:
    ends = references // width * width
    begins = (references - length) // width * width
    return np.minimum(begins, ends - width), ends


def _evaluated(
    scope: EvalContext,
    selector: VectorSelector,
    function: RollupFunction,
    choice: RollupChoice,
    begins: Times,
    ends: Times,
) -> RollupAnswer:
    assert isinstance(scope.storage, RollupStorage)
    start, stop, width = int(begins.min()), int(ends.max()), choice.width
    parts = []
    for group in scope.storage.rollups(matchers_of(selector), start, stop, width, function.needs):
        scope.budget.spend(_size(group, choice))
        parts.append(_spanned(group, function, choice, begins, ends))
    return RollupAnswer(stack_vectors(parts, len(choice.steps)), choice.steps)


def _size(group: RollupGroup, choice: RollupChoice) -> int:
    return len(group.labels) * (len(group.buckets.ends) + len(choice.steps))


def _spanned(
    group: RollupGroup, function: RollupFunction, choice: RollupChoice, begins: Times, ends: Times
) -> Vector:
    steps, start = choice.steps, int(begins.min())
    low, high = (begins - start) // choice.width, (ends - start) // choice.width
    samples = spans(group.buckets, low, high, function.needs)
    with np.errstate(all="ignore"):
        made = function.kernel(BucketSpan(samples, begins, ends, choice.length))
    shape = (len(group.labels), len(steps))
    values, present = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    values[:, steps] = made
    present[:, steps] = samples.count >= function.least
    return Vector(group.labels, values, present).without_empty_rows()


def _unanswered(scope: EvalContext, what: str, gone: Flags) -> RollupAnswer | None:
    if not gone.any():
        return None
    scope.warn(
        f"{what} needs raw samples, which are kept since {_spelled(scope)}: steps that look further back are "
        "left out; rate, increase, delta and min, max, sum, avg, count, first, last and present_over_time "
        "can be answered there"
    )
    return RollupAnswer(empty(len(gone)), gone)


def _say(scope: EvalContext, what: str, choice: RollupChoice) -> None:
    why = f" where raw samples have gone (kept since {_spelled(scope)})" if choice.gone else ""
    scope.warn(f"{what} from rollups of {choice.width // 60_000} min{why}")


def _spelled(scope: EvalContext) -> str:
    assert isinstance(scope.storage, RollupStorage)
    return datetime.fromtimestamp(scope.storage.raw_since() / 1000, UTC).isoformat(timespec="seconds")
