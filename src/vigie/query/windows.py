"""Range windows: the samples of a block in the range that ends at each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vigie.query.arrays import Flags, Floats, Indices, Times
from vigie.query.sample_blocks import SampleBlock
from vigie.query.semantics import Semantics
from vigie.query.vectors import Vector, empty_vector

# Cells processed at once: a few arrays of this size fit the processor's cache.
PIECE_CELLS = 1 << 17


@dataclass(frozen=True)
class Window:
    """Values of some series, and for each step the columns low (in) to high (out) of its range.

    The times are those of all series; if blocks with different times are stacked, there is one row of times
    per block, and `of` is the block of each series.
    `begins` and `ends` are the limits of the range in milliseconds; `now` is the step itself, which differs
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
    block_of_row: Indices | None = None

    @property
    def counts(self) -> Indices:
        """Return the number of samples in each step's range."""
        return self.high - self.low

    def part(self, rows: slice, steps: Indices | slice) -> Window:
        return Window(
            self.times,
            self.values[rows],
            self.low[steps],
            self.high[steps],
            self.begins[steps],
            self.ends[steps],
            self.now[steps],
            self.semantics,
            None if self.block_of_row is None else self.block_of_row[rows],
        )

    def times_at(self, columns: Indices) -> Times:
        """Return the times of these columns, for all series or for each."""
        times: Times = self.times[..., columns]
        return times if self.block_of_row is None else times[self.block_of_row]

    def first(self) -> Floats:
        return np.take(self.values, self.low, axis=1)

    def last(self) -> Floats:
        return np.take(self.values, self.high - 1, axis=1)

    def reduce(self, operation: np.ufunc, values: Floats | None = None, shorter: int = 0) -> Floats:
        """Reduce each range, which has at least one sample, or all but its last samples."""
        source = self.values if values is None else values
        if len(self.low) == 1 and self.high[0] - shorter == source.shape[1]:
            whole: Floats = operation.reduceat(source, self.low, axis=1)
            return whole
        bounds = np.column_stack([self.low, self.high - shorter]).ravel()
        padded = np.concatenate([source, source[:, :1]], axis=1)  # so that an end may be after the last
        reduced: Floats = operation.reduceat(padded, bounds, axis=1)[:, ::2]
        return reduced

    def cube(self, source: Floats | None = None) -> tuple[Floats, Flags]:
        """Return all samples as [series, step, index in the range], and which cells are filled."""
        places = np.arange(int(self.counts.max()))
        filled = places < self.counts[:, np.newaxis]
        columns = np.where(filled, self.low[:, np.newaxis] + places, 0)
        return np.take(self.values if source is None else source, columns, axis=-1), filled


def build_window(block: SampleBlock, ends: Times, now: Times, length: int, semantics: Semantics) -> Window:
    """Return the windows of this length, in milliseconds, over a block."""
    begins = ends - length
    low = np.searchsorted(block.times, begins, side="right" if semantics.left_open else "left")
    high = np.searchsorted(block.times, ends, side="right")
    return Window(block.times, block.values, low, high, begins, ends, now, semantics)


Kernel = Callable[[Window, Sequence[Floats]], Floats]


class RangeFunction(NamedTuple):
    """A function of ranges with at least this many samples; `cubic` if it uses the cube of all samples."""

    kernel: Kernel
    min_samples: int = 1
    cubic: bool = False
    keeps_name: bool = False
    range_argument: int = 0  # index of the range argument
    stackable: bool = True  # whether blocks with different times may be stacked


def apply(
    function: RangeFunction,
    block: SampleBlock,
    window: Window,
    parameters: Sequence[Floats],
    check: Callable[[], None],
) -> Vector:
    """Apply a range function piece by piece, checking the time limit."""
    enough = window.counts >= function.min_samples
    if not enough.any():
        return empty_vector(len(window.now))
    values = apply_function(function, window, np.flatnonzero(enough), parameters, check)
    present = np.empty(values.shape, dtype=np.bool_)
    present[:] = enough
    return Vector(block.labels, values, present)


def apply_function(
    function: RangeFunction,
    window: Window,
    steps: Indices,
    parameters: Sequence[Floats],
    check: Callable[[], None],
) -> Floats:
    """Return the function's values; only those of `steps` are valid."""
    values = np.zeros((len(window.values), len(window.now)))
    for rows, columns in _split_pieces(window, steps, function.cubic):
        check()
        part = window.part(rows, columns)
        with np.errstate(all="ignore"):
            result = function.kernel(part, [parameter[columns] for parameter in parameters])
        if len(columns) == len(window.now):
            values[rows] = result
        else:
            values[rows, columns] = result
    return values


def _split_pieces(window: Window, steps: Indices, cubic: bool) -> Iterator[tuple[slice, Indices]]:
    """Yield rows and steps to process together; in a cube each step costs its whole range."""
    cost = int(window.counts.max()) if cubic else 1
    width = max(1, min(len(steps), PIECE_CELLS // cost))
    height = max(1, PIECE_CELLS // max(width * cost, window.values.shape[1]))
    for left in range(0, len(steps), width):
        for top in range(0, len(window.values), height):
            yield slice(top, top + height), steps[left : left + width]
