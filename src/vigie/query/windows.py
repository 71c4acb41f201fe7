"""Range windows: which samples of a block lie in the range that ends at each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vigie.query.blocks import Block
from vigie.query.semantics import Semantics
from vigie.query.vectors import Flags, Floats, Indices, Times, Vector

# Cells that a function works on at once: a few arrays of this size stay in the processor's cache.
PIECE = 1 << 17


@dataclass(frozen=True)
class Window:
    """Values of some series, and for each step the columns low (in) to high (out) of its range.

    `begins` and `ends` are the range's limits in milliseconds; `now` is the step itself, which differs
    from the end under an offset or @.
    """

    times: Times
    values: Floats
    low: Indices
    high: Indices
    begins: Times
    ends: Times
    now: Times
    semantics: Semantics

    @property
    def counts(self) -> Indices:
        """Return how many samples each step's range holds."""
        return self.high - self.low

    def part(self, rows: slice, steps: Indices | slice) -> Window:
        """Return some rows and steps of the window."""
        return Window(
            self.times,
            self.values[rows],
            self.low[steps],
            self.high[steps],
            self.begins[steps],
            self.ends[steps],
            self.now[steps],
            self.semantics,
        )

    def first(self) -> Floats:
        """Return the first value of every range."""
        return np.take(self.values, self.low, axis=1)

    def last(self) -> Floats:
        """Return the last value of every range."""
        return np.take(self.values, self.high - 1, axis=1)

    def reduce(self, operation: np.ufunc, values: Floats | None = None, shorter: int = 0) -> Floats:
        """Return the operation over each range, which holds a sample at least; or over all but its last."""
        source = self.values if values is None else values
        bounds = np.column_stack([self.low, self.high - shorter]).ravel()
        padded = np.concatenate([source, source[:, :1]], axis=1)  # so that an end may lie after the last
        reduced: Floats = operation.reduceat(padded, bounds, axis=1)[:, ::2]
        return reduced

    def cube(self, source: Floats | None = None) -> tuple[Floats, Flags]:
        """Return all samples as [series, step, place in the range], and which places are filled."""
        places = np.arange(int(self.counts.max()))
        filled = places < self.counts[:, np.newaxis]
        columns = np.where(filled, self.low[:, np.newaxis] + places, 0)
        return np.take(self.values if source is None else source, columns, axis=-1), filled


def window_of(block: Block, ends: Times, now: Times, length: int, semantics: Semantics) -> Window:
    """Return the window of this length, in milliseconds, over a block."""
    begins = ends - length
    low = np.searchsorted(block.times, begins, side="right" if semantics.left_open else "left")
    high = np.searchsorted(block.times, ends, side="right")
    return Window(block.times, block.values, low, high, begins, ends, now, semantics)


Kernel = Callable[[Window, Sequence[Floats]], Floats]


def apply(
    kernel: Kernel, least: int, block: Block, window: Window, parameters: Sequence[Floats], *, cubic: bool
) -> Vector:
    """Apply a function of ranges, in pieces, where the range holds at least so many samples."""
    shape = len(block.labels), len(window.now)
    values = np.zeros(shape)
    steps = np.flatnonzero(window.counts >= least)
    for rows, columns in _pieces(window, steps, cubic):
        part = window.part(rows, columns)
        with np.errstate(all="ignore"):
            made = kernel(part, [parameter[columns] for parameter in parameters])
        if len(columns) == shape[1]:
            values[rows] = made
        else:
            values[rows, columns] = made
    present = np.broadcast_to(window.counts >= least, shape).copy()
    return Vector(block.labels, values, present).without_empty_rows()


def _pieces(window: Window, steps: Indices, cubic: bool) -> Iterator[tuple[slice, Indices]]:
    """Yield rows and steps that are worked on together; in a cube each step costs its whole range."""
    if not len(steps):
        return
    cost = int(window.counts.max()) if cubic else 1
    width = max(1, min(len(steps), PIECE // cost))
    height = max(1, PIECE // max(width * cost, len(window.times)))
    for left in range(0, len(steps), width):
        for top in range(0, len(window.values), height):
            yield slice(top, top + height), steps[left : left + width]
