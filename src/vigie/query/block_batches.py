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
from vigie.query.vectors import Vector, concat_vectors, empty
from vigie.query.windows import PIECE, RangeFunction, Window, apply_function

T = TypeVar("T")
Placed = tuple[int, SampleBlock]  # index among all blocks
FEW = 1 << 14  # samples of a block; larger ones are not worth copying


def batches(things: Iterable[T], size: Callable[[T], int], enough: int) -> Iterator[list[T]]:
    """Yield lists of at least this total size, except for the last."""
    batch, total = list[T](), 0
    for thing in things:
        batch.append(thing)
        total += size(thing)
        if total >= enough:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def newest_of_many(
    blocks: Sequence[SampleBlock], reference: int, lookback: int, semantics: Semantics
) -> Vector:
    """Return the newest value of every series, unless it is too old or stale."""
    oldest = reference - lookback + (1 if semantics.left_open else 0)
    chosen: list[SampleBlock] = []
    columns: list[Floats] = []
    for block in blocks:
        place = int(block.times.searchsorted(reference, side="right")) - 1
        if place >= 0 and block.times[place] >= oldest:
            chosen.append(block)
            columns.append(block.values[:, place])
    if not chosen:
        return empty(1)
    values = np.concatenate(columns)[:, np.newaxis]
    labels = concat_vectors([block.labels for block in chosen])
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
    bundles: dict[int, list[Placed]] = {}
    for place, block in enumerate(blocks):
        low = int(block.times.searchsorted(begins[0], side=side))
        high = int(block.times.searchsorted(ends[0], side="right"))
        if high - low >= function.least:
            cut = SampleBlock(block.labels, block.times[low:high], block.values[:, low:high])
            bundles.setdefault(high - low, []).append((place, cut))
    if not bundles:
        return empty(1)
    values, places = [], []
    pieces = (piece for same in bundles.values() for piece in batches(same, _size, PIECE))
    for bundle in pieces:
        some = [block for _, block in bundle]
        heights = [len(block.labels) for block in some]
        times, of = np.stack([block.times for block in some]), np.repeat(np.arange(len(some)), heights)
        low_high = np.zeros(1, dtype=np.intp), np.full(1, times.shape[1], dtype=np.intp)
        lines = np.concatenate([block.values for block in some])
        window = Window(times, lines, *low_high, begins, ends, now, semantics, of)
        values.append(apply_function(function, window, low_high[0], parameters, check))
        places.append(np.repeat([place for place, _ in bundle], heights))
    order = np.argsort(np.concatenate(places), kind="stable")
    ordered = np.concatenate(values)[order]
    enough = sorted(place for bundle in bundles.values() for place, _ in bundle)
    labels = concat_vectors([blocks[place].labels for place in enough])
    return Vector(labels, ordered, np.ones(ordered.shape, dtype=np.bool_))


def _size(placed: Placed) -> int:
    return placed[1].values.size
