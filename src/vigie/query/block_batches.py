"""Processes many small blocks in one numpy call instead of one per block.

The blocks of many nodes differ in their times. For a range function each is cut to its range, and those with
equally many samples are stacked into one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeVar

import numpy as np

from vigie.query.arrays import Floats, Times
from vigie.query.sample_blocks import SampleBlock, is_stale
from vigie.query.semantics import Semantics
from vigie.query.vectors import Vector, concat_labels, empty_vector
from vigie.query.windows import PIECE_CELLS, RangeFunction, Window, apply_function

T = TypeVar("T")
IndexedBlock = tuple[int, SampleBlock]  # index among all blocks
MAX_STACKED = 1 << 14  # samples of a block; larger ones are not worth copying


def split_batches(items: Iterable[T], size: Callable[[T], int], min_size: int) -> Iterator[list[T]]:
    """Yield lists of at least this total size, except for the last."""
    batch, total = list[T](), 0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= min_size:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def newest_of_blocks(
    blocks: Sequence[SampleBlock], reference: int, lookback: int, semantics: Semantics
) -> Vector:
    """Return the newest value of every series, unless it is too old or stale."""
    oldest = reference - lookback + (1 if semantics.left_open else 0)
    chosen: list[SampleBlock] = []
    columns: list[Floats] = []
    for block in blocks:
        index = int(block.times.searchsorted(reference, side="right")) - 1
        if index >= 0 and block.times[index] >= oldest:
            chosen.append(block)
            columns.append(block.values[:, index])
    if not chosen:
        return empty_vector(1)
    values = np.concatenate(columns)[:, np.newaxis]
    labels = concat_labels([block.labels for block in chosen])
    return Vector(labels, values, ~is_stale(values)).without_empty_rows()


def apply_to_many(
    function: RangeFunction,
    blocks: Sequence[SampleBlock],
    ends: Times,
    now: Times,
    length: int,
    semantics: Semantics,
    parameters: Sequence[Floats],
    check: Callable[[], None],
) -> Vector:
    """Apply a range function to the blocks that have enough samples, in their order."""
    begins = ends - length
    side: Literal["left", "right"] = "right" if semantics.left_open else "left"
    by_length: dict[int, list[IndexedBlock]] = {}
    for index, block in enumerate(blocks):
        low = int(block.times.searchsorted(begins[0], side=side))
        high = int(block.times.searchsorted(ends[0], side="right"))
        if high - low >= function.min_samples:
            cut = SampleBlock(block.labels, block.times[low:high], block.values[:, low:high])
            by_length.setdefault(high - low, []).append((index, cut))
    if not by_length:
        return empty_vector(1)
    values, indexes = [], []
    stacks = (
        piece
        for equally_long in by_length.values()
        for piece in split_batches(equally_long, _size, PIECE_CELLS)
    )
    for stack in stacks:
        some = [block for _, block in stack]
        heights = [len(block.labels) for block in some]
        times, block_of_row = (
            np.stack([block.times for block in some]),
            np.repeat(np.arange(len(some)), heights),
        )
        low_high = np.zeros(1, dtype=np.intp), np.full(1, times.shape[1], dtype=np.intp)
        stacked = np.concatenate([block.values for block in some])
        window = Window(times, stacked, *low_high, begins, ends, now, semantics, block_of_row)
        values.append(apply_function(function, window, low_high[0], parameters, check))
        indexes.append(np.repeat([index for index, _ in stack], heights))
    order = np.argsort(np.concatenate(indexes), kind="stable")
    ordered = np.concatenate(values)[order]
    min_size = sorted(index for stack in by_length.values() for index, _ in stack)
    labels = concat_labels([blocks[index].labels for index in min_size])
    return Vector(labels, ordered, np.ones(ordered.shape, dtype=np.bool_))


def _size(placed: IndexedBlock) -> int:
    return placed[1].values.size
