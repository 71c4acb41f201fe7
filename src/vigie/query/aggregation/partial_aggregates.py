"""Aggregations that can be made part by part: what is kept of each part, and how two are put together."""

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

CACHED = 1 << 13  # numbers of an array: what is larger, the C library asks of the kernel each time
State = tuple[Floats, ...]  # how many samples there were, and whatever else; a row for each group


class Fold(ABC):
    """How an operator is made of parts."""

    @abstractmethod
    def begun(self, vector: Vector, groups: Grouping) -> State:
        """Return what is kept of one part."""

    @abstractmethod
    def joined(self, one: State, other: State) -> State:
        """Return what is kept of two parts."""

    @abstractmethod
    def ended(self, state: State) -> Floats:
        """Return the values of the groups."""

    def alone(self, values: Floats) -> Floats:
        """Return the values of groups that have one series each."""
        return values


class CountFold(Fold):
    """How many series there are."""

    def begun(self, vector: Vector, groups: Grouping) -> State:
        return (counts_of(vector, groups),)

    def joined(self, one: State, other: State) -> State:
        return (one[0] + other[0],)

    def ended(self, state: State) -> Floats:
        return state[0]

    def alone(self, values: Floats) -> Floats:
        return np.ones_like(values)


class GroupFold(CountFold):
    def ended(self, state: State) -> Floats:
        return np.ones_like(state[0])


class SumFold(Fold):
    """The sum, with what rounding lost along the way added at the end, as Prometheus does."""

    def begun(self, vector: Vector, groups: Grouping) -> State:
        """Add up the rows; numbers of one sign lose nothing that counts, and are added the quick way."""
        values = _filled(vector, 0.0)
        if not (values < 0).any():
            total = reduce(np.add, values, groups)
            return counts_of(vector, groups), total, everywhere(0.0, total.shape)
        return counts_of(vector, groups), *_compensated(values, groups)

    def joined(self, one: State, other: State) -> State:
        total, lost = two_sum(one[1], other[1])
        return one[0] + other[0], total, one[2] + other[2] + lost

    def ended(self, state: State) -> Floats:
        _, total, lost, *_ = state
        return add_lost(total, lost) if lost.any() else total


class AverageFold(SumFold):
    """The mean, which is a number even where the sum is too large to be one."""

    def begun(self, vector: Vector, groups: Grouping) -> State:
        """Add up the rows; where that is too much, made small as well."""
        state = super().begun(vector, groups)
        if np.isinf(state[1]).any():
            return *state, reduce(np.add, _filled(vector, 0.0) * SMALL, groups)
        return *state, everywhere(np.nan, state[1].shape)

    def joined(self, one: State, other: State) -> State:
        return *super().joined(one, other), _small_sum(one) + _small_sum(other)

    def ended(self, state: State) -> Floats:
        mean = super().ended(state) / state[0]
        too_large = np.isinf(mean)
        return np.where(too_large, _small_sum(state) / state[0] / SMALL, mean) if too_large.any() else mean


def _small_sum(state: State) -> Floats:
    """Return the sum of what was made small; NaN stands for what the sum itself says."""
    _, total, _, small = state
    return np.where(np.isnan(small), total * SMALL, small)


class ExtremeFold(Fold):
    """The smallest or the largest; NaN only if there is nothing else."""

    def __init__(self, operation: np.ufunc) -> None:
        self._operation = operation

    def begun(self, vector: Vector, groups: Grouping) -> State:
        """Find it in one part."""
        return counts_of(vector, groups), reduce(self._operation, _filled(vector, np.nan), groups)

    def joined(self, one: State, other: State) -> State:
        """Choose of two."""
        return one[0] + other[0], self._operation(one[1], other[1])

    def ended(self, state: State) -> Floats:
        return state[1]


class VarianceFold(Fold):
    """The population variance, from counts, means and sums of squares off the mean."""

    def begun(self, vector: Vector, groups: Grouping) -> State:
        """Return all three of one part."""
        counts = counts_of(vector, groups)
        mean = reduce(np.add, _filled(vector, 0.0), groups) / counts
        off = np.where(vector.present, vector.values - mean[groups.numbers()], 0.0)
        return counts, np.where(counts > 0, mean, 0.0), reduce(np.add, off * off, groups)

    def joined(self, one: State, other: State) -> State:
        """Put two parts together, each around its own mean."""
        counts = one[0] + other[0]
        apart = other[1] - one[1]
        share = np.where(counts > 0, other[0] / counts, 0.0)
        # A part without samples at a step must not spoil the other's infinity or NaN.
        mean = np.where(other[0] == 0, one[1], np.where(one[0] == 0, other[1], one[1] + apart * share))
        both = (one[0] > 0) & (other[0] > 0)
        return counts, mean, one[2] + other[2] + np.where(both, apart * apart * one[0] * share, 0.0)

    def ended(self, state: State) -> Floats:
        return state[2] / state[0]

    def alone(self, values: Floats) -> Floats:
        """Return that nothing varies, but for what is not finite."""
        return values - values


class DeviationFold(VarianceFold):
    """The population standard deviation."""

    def ended(self, state: State) -> Floats:
        return np.sqrt(super().ended(state))


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
    """Return the operation over the rows of each group."""
    if len(groups.starts) == 1:
        whole: Floats = operation.reduce(values, axis=0)[np.newaxis]
        return whole
    if len(groups.starts) == len(values):  # every series is a group of its own, numbered as it came
        return values.copy()
    # Rows that already stand in the order of their groups need not be copied.
    sorted_already = (np.diff(groups.order) > 0).all()
    some: Floats = operation.reduceat(
        values if sorted_already else values[groups.order], groups.starts, axis=0
    )
    return some


def everywhere(number: float, shape: tuple[int, ...]) -> Floats:
    """Return one number in every place, which nobody can change; what is small is made once for all."""
    return _made_once(number, shape) if math.prod(shape) <= CACHED else np.broadcast_to(number, shape)


@lru_cache(maxsize=64)
def _made_once(number: float, shape: tuple[int, ...]) -> Floats:
    made = np.full(shape, number)
    made.setflags(write=False)
    return made


def counts_of(vector: Vector, groups: Grouping) -> Floats:
    """Return how many series of each group have a sample at each step."""
    if vector.present.all():
        shape = len(groups.starts), vector.values.shape[1]
        if shape[0] == len(vector.values):
            return everywhere(1.0, shape)
        return np.broadcast_to(groups.sizes().astype(np.float64)[:, np.newaxis], shape)
    return reduce(np.add, vector.present.astype(np.float64), groups)


def _filled(vector: Vector, instead: float) -> Floats:
    return vector.values if vector.present.all() else np.where(vector.present, vector.values, instead)


def _compensated(values: Floats, groups: Grouping) -> tuple[Floats, Floats]:
    shape = len(groups.labels), values.shape[1]
    totals, losses = np.zeros(shape), np.zeros(shape)
    for group, members in enumerate(groups.members()):
        for row in members.tolist():
            totals[group], lost = two_sum(totals[group], values[row])
            losses[group] += lost
    return totals, losses
