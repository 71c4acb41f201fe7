"""Vector selectors: at each step the newest sample that is neither too old nor stale."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from promql_parser import VectorSelector

from vigie.query.arrays import Times
from vigie.query.block_batches import newest_of_blocks
from vigie.query.eval_context import EvalContext
from vigie.query.matchers import matchers_of
from vigie.query.sample_blocks import SampleBlock, is_stale, split_groups
from vigie.query.storage import SeriesGroup
from vigie.query.vectors import Vector, empty_vector, stack_vectors


def select(
    context: EvalContext, selector: VectorSelector, references: Times, lookback_ms: int
) -> list[SeriesGroup]:
    """Return the samples a selector needs for these reference times."""
    start, end = int(references.min()) - lookback_ms, int(references.max())
    groups = context.storage.select(matchers_of(selector), start, end)
    context.budget.spend(sum(group.values.size for group in groups))
    return groups


def select_instant(context: EvalContext, selector: VectorSelector) -> Vector:
    """Return the value of every series at every step."""
    if len(context.times) == 1:
        return _select_one_step(context, selector)
    return stack_vectors((vector for vector, _ in _select_steps(context, selector)), len(context.times))


def sample_times(context: EvalContext, selector: VectorSelector) -> Vector:
    """Return the times of a selector's samples, in seconds."""
    parts = []
    for vector, times in _select_steps(context, selector):
        seconds = np.broadcast_to(times / 1000, vector.values.shape)
        parts.append(Vector(vector.labels, seconds, vector.present))
    return stack_vectors(parts, len(context.times)).without_names()


def _select_one_step(context: EvalContext, selector: VectorSelector) -> Vector:
    references = context.references(selector.at, selector.offset)
    groups = select(context, selector, references, context.lookback)
    blocks = list(split_groups(groups, keep_stale=True))
    context.budget.spend(sum(len(block.labels) for block in blocks))
    return newest_of_blocks(blocks, int(references[0]), context.lookback, context.semantics)


def _select_steps(context: EvalContext, selector: VectorSelector) -> Iterator[tuple[Vector, Times]]:
    if not len(context.times):
        yield empty_vector(0), context.times
        return
    references = context.references(selector.at, selector.offset)
    groups = select(context, selector, references, context.lookback)
    for block in split_groups(groups, keep_stale=True):
        context.budget.spend(len(block.labels) * len(references))
        yield newest_samples(block, references, context)


def newest_samples(block: SampleBlock, references: Times, context: EvalContext) -> tuple[Vector, Times]:
    """Return the newest value at each reference time, and its time."""
    found = np.searchsorted(block.times, references, side="right") - 1
    place = np.maximum(found, 0)
    times = block.times[place]
    oldest = references - context.lookback
    fresh = (times > oldest) if context.semantics.left_open else (times >= oldest)
    values = np.take(block.values, place, axis=1)
    present = ~is_stale(values)
    present &= fresh & (found >= 0)
    return Vector(block.labels, values, present).without_empty_rows(), times
