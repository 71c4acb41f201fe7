"""Aggregations that can be computed part by part: start with one part, merge states, finish."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

from vigie.query.aggregation.grouping import Grouping
from vigie.query.arrays import Floats
from vigie.query.functions.compensated_sum import add_lost, two_sum
from vigie.query.functions.over_time import SMALL
from vigie.query.vectors import Vector

MAX_CACHED_SIZE = 1 << 13  # elements of an array; larger ones are allocated by mmap each time
State = tuple[Floats, ...]  # number of samples, and further arrays; one row per group


class Fold(ABC):
    """Computes an aggregation operator part by part."""

    @abstractmethod
    def start(self, vector: Vector, groups: Grouping) -> State:
        """Return the state of one part."""

    @abstractmethod
    def merge(self, one: State, other: State) -> State:
        """Return the merged state of two parts."""

    @abstractmethod
    def finish(self, state: State) -> Floats:
        """Return the values of the groups."""

    def finish_single(self, values: Floats) -> Floats:
        """Return the values of groups that have one series each."""
        return values


class CountFold(Fold):
    def start(self, vector: Vector, groups: Grouping) -> State:
        return (count_present(vector, groups),)

    def merge(self, one: State, other: State) -> State:
        return (one[0] + other[0],)

    def finish(self, state: State) -> Floats:
        return state[0]

    def finish_single(self, values: Floats) -> Floats:
        return np.ones_like(values)


class GroupFold(CountFold):
    def finish(self, state: State) -> Floats:
        return np.ones_like(state[0])


class SumFold(Fold):
    """Kahan-Babuska summation, as in Prometheus."""

    def start(self, vector: Vector, groups: Grouping) -> State:
        """Sum the rows; numbers of one sign need no compensation."""
        values = _fill_absent(vector, 0.0)
        if not (values < 0).any():
            total = reduce(np.add, values, groups)
            return count_present(vector, groups), total, constant_array(0.0, total.shape)
        return count_present(vector, groups), *_sum_compensated(values, groups)

    def merge(self, one: State, other: State) -> State:
        total, lost = two_sum(one[1], other[1])
        return one[0] + other[0], total, one[2] + other[2] + lost

    def finish(self, state: State) -> Floats:
        _, total, lost, *_ = state
        return add_lost(total, lost) if lost.any() else total


class AverageFold(SumFold):
    """The mean, finite even where the sum overflows."""

    def start(self, vector: Vector, groups: Grouping) -> State:
        """Sum the rows; where the sum overflows, also sum scaled values."""
        state = super().start(vector, groups)
        if np.isinf(state[1]).any():
            return *state, reduce(np.add, _fill_absent(vector, 0.0) * SMALL, groups)
        return *state, constant_array(np.nan, state[1].shape)

    def merge(self, one: State, other: State) -> State:
        return *super().merge(one, other), _small_sum(one) + _small_sum(other)

    def finish(self, state: State) -> Floats:
        mean = super().finish(state) / state[0]
        too_large = np.isinf(mean)
        return np.where(too_large, _small_sum(state) / state[0] / SMALL, mean) if too_large.any() else mean


def _small_sum(state: State) -> Floats:
    """Return the scaled sum; NaN means that the plain sum did not overflow."""
    _, total, _, small = state
    return np.where(np.isnan(small), total * SMALL, small)


class ExtremeFold(Fold):
    """The minimum or maximum; NaN only if there is nothing else."""

    def __init__(self, operation: np.ufunc) -> None:
        self._operation = operation

    def start(self, vector: Vector, groups: Grouping) -> State:
        return count_present(vector, groups), reduce(self._operation, _fill_absent(vector, np.nan), groups)

    def merge(self, one: State, other: State) -> State:
        return one[0] + other[0], self._operation(one[1], other[1])

    def finish(self, state: State) -> Floats:
        return state[1]


class VarianceFold(Fold):
    """The population variance, from counts, means and sums of squared distances."""

    def start(self, vector: Vector, groups: Grouping) -> State:
        counts = count_present(vector, groups)
        mean = reduce(np.add, _fill_absent(vector, 0.0), groups) / counts
        off = np.where(vector.present, vector.values - mean[groups.numbers()], 0.0)
        return counts, np.where(counts > 0, mean, 0.0), reduce(np.add, off * off, groups)

    def merge(self, one: State, other: State) -> State:
        """Merge by Chan's formula."""
        counts = one[0] + other[0]
        distance = other[1] - one[1]
        share = np.where(counts > 0, other[0] / counts, 0.0)
        # A part without samples at a step must not turn the other's infinity into NaN.
        mean = np.where(other[0] == 0, one[1], np.where(one[0] == 0, other[1], one[1] + distance * share))
        both = (one[0] > 0) & (other[0] > 0)
        return counts, mean, one[2] + other[2] + np.where(both, distance * distance * one[0] * share, 0.0)

    def finish(self, state: State) -> Floats:
        return state[2] / state[0]

    def finish_single(self, values: Floats) -> Floats:
        """Return 0, or NaN for values that are not finite."""
        return values - values


class DeviationFold(VarianceFold):
    def finish(self, state: State) -> Floats:
        return np.sqrt(super().finish(state))


FOLDS: dict[str, Fold] = {
    "sum": SumFold(),
    "avg": AverageFold(),
    "min": ExtremeFold(np.fmin),
    "max": ExtremeFold(np.fmax),
    "count": CountFold(),
    "group": GroupFold(),
    "stdvar": VarianceFold(),
    "stddev": DeviationFold(),
}


def reduce(operation: np.ufunc, values: Floats, groups: Grouping) -> Floats:
    if len(groups.starts) == 1:
        whole: Floats = operation.reduce(values, axis=0)[np.newaxis]
        return whole
    if len(groups.starts) == len(values):  # every series is its own group, in order
        return values.copy()
    # Rows already sorted by group are not copied.
    sorted_already = (np.diff(groups.order) > 0).all()
    reduced: Floats = operation.reduceat(
        values if sorted_already else values[groups.order], groups.starts, axis=0
    )
    return reduced


def constant_array(number: float, shape: tuple[int, ...]) -> Floats:
    """Return a read-only constant array; small ones are cached."""
    return (
        _cached_constant(number, shape)
        if math.prod(shape) <= MAX_CACHED_SIZE
        else np.broadcast_to(number, shape)
    )


@lru_cache(maxsize=64)
def _cached_constant(number: float, shape: tuple[int, ...]) -> Floats:
    array = np.full(shape, number)
    array.setflags(write=False)
    return array


def count_present(vector: Vector, groups: Grouping) -> Floats:
    """Return how many series of each group have a sample at each step."""
    if vector.present.all():
        shape = len(groups.starts), vector.values.shape[1]
        if shape[0] == len(vector.values):
            return constant_array(1.0, shape)
        return np.broadcast_to(groups.sizes().astype(np.float64)[:, np.newaxis], shape)
    return reduce(np.add, vector.present.astype(np.float64), groups)


def _fill_absent(vector: Vector, instead: float) -> Floats:
    return vector.values if vector.present.all() else np.where(vector.present, vector.values, instead)


def _sum_compensated(values: Floats, groups: Grouping) -> tuple[Floats, Floats]:
    shape = len(groups.labels), values.shape[1]
    totals, losses = np.zeros(shape), np.zeros(shape)
    for group, members in enumerate(groups.members()):
        for row in members.tolist():
            totals[group], lost = two_sum(totals[group], values[row])
            losses[group] += lost
    return totals, losses
