"""Vector selectors: at each step the newest sample that is neither too old nor stale."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from promql_parser import VectorSelector

from vigie.query.arrays import Times
from vigie.query.block_batches import newest_of_many
from vigie.query.eval_context import EvalContext
from vigie.query.matchers import matchers_of
from vigie.query.sample_blocks import SampleBlock, blocks_of, is_stale
from vigie.query.storage import SeriesGroup
from vigie.query.vectors import Vector, empty, stack_vectors


def select(scope: EvalContext, selector: VectorSelector, references: Times, reach: int) -> list[SeriesGroup]:
    """Return the samples a selector needs for these reference times."""
    start, end = int(references.min()) - reach, int(references.max())
    groups = scope.storage.select(matchers_of(selector), start, end)
    scope.budget.spend(sum(group.values.size for group in groups))
    return groups


def select_instant(scope: EvalContext, selector: VectorSelector) -> Vector:
    """Return the value of every series at every step."""
    if len(scope.times) == 1:
        return _at_once(scope, selector)
    return stack_vectors((vector for vector, _ in _looked_up(scope, selector)), len(scope.times))


def sample_times(scope: EvalContext, selector: VectorSelector) -> Vector:
    """Return the times of a selector's samples, in seconds."""
    parts = []
    for vector, times in _looked_up(scope, selector):
        seconds = np.broadcast_to(times / 1000, vector.values.shape)
        parts.append(Vector(vector.labels, seconds, vector.present))
    return stack_vectors(parts, len(scope.times)).without_names()


def _at_once(scope: EvalContext, selector: VectorSelector) -> Vector:
    references = scope.references(selector.at, selector.offset)
    groups = select(scope, selector, references, scope.lookback)
    blocks = list(blocks_of(groups, keep_stale=True))
    scope.budget.spend(sum(len(block.labels) for block in blocks))
    return newest_of_many(blocks, int(references[0]), scope.lookback, scope.semantics)


def _looked_up(scope: EvalContext, selector: VectorSelector) -> Iterator[tuple[Vector, Times]]:
    if not len(scope.times):
        yield empty(0), scope.times
        return
    references = scope.references(selector.at, selector.offset)
    groups = select(scope, selector, references, scope.lookback)
    for block in blocks_of(groups, keep_stale=True):
        scope.budget.spend(len(block.labels) * len(references))
        yield newest_samples(block, references, scope)


def newest_samples(block: SampleBlock, references: Times, scope: EvalContext) -> tuple[Vector, Times]:
    """Return the newest value at each reference time, and its time."""
    found = np.searchsorted(block.times, references, side="right") - 1
    place = np.maximum(found, 0)
    times = block.times[place]
    oldest = references - scope.lookback
    fresh = (times > oldest) if scope.semantics.left_open else (times >= oldest)
    values = np.take(block.values, place, axis=1)
    present = ~is_stale(values)
    present &= fresh & (found >= 0)
    return Vector(block.labels, values, present).without_empty_rows(), times
