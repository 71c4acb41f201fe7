"""A function of ranges at one step, over many blocks at once.

The blocks of a hundred nodes differ in their times. Each is cut to its range, and those of equally many
samples stand in one matrix: a function is called once for them, not once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vigie.query.blocks import Block
from vigie.query.semantics import Semantics
from vigie.query.vectors import Floats, Times, Vector
from vigie.query.windows import RangeFunction, Window, computed

FEW = 1 << 14  # samples of a block; more are not worth being copied


def apply_to_many(
    function: RangeFunction,
    blocks: Sequence[Block],
    ends: Times,
    now: Times,
    length: int,
    semantics: Semantics,
    parameters: Sequence[Floats],
    check: Callable[[], None],
) -> list[Vector]:
    """Return what becomes of each block that has samples enough, in their order."""
    begins = ends - length
    bundles: dict[int, list[tuple[int, Block]]] = {}
    for place, block in enumerate(blocks):
        low = int(block.times.searchsorted(begins[0], side="right" if semantics.left_open else "left"))
        high = int(block.times.searchsorted(ends[0], side="right"))
        if high - low >= function.least:
            cut = Block(block.labels, block.times[low:high], block.values[:, low:high])
            bundles.setdefault(high - low, []).append((place, cut))
    made: dict[int, Vector] = {}
    for count, bundle in bundles.items():
        some = [block for _, block in bundle]
        heights = [len(block.labels) for block in some]
        times = np.repeat(np.stack([block.times for block in some]), heights, axis=0)
        values = np.concatenate([block.values for block in some])
        low_high = np.zeros(1, dtype=np.intp), np.full(1, count, dtype=np.intp)
        window = Window(times, values, *low_high, begins, ends, now, semantics)
        result = computed(function, window, low_high[0], parameters, check)
        edges = np.cumsum(heights)[:-1]
        for (place, block), part in zip(bundle, np.split(result, edges), strict=True):
            made[place] = Vector(block.labels, part, np.ones(part.shape, dtype=np.bool_))
    return [made[place] for place in sorted(made)]
