"""The range functions that can be computed from buckets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vigie.query.arrays import Floats, Times
from vigie.query.buckets import Buckets


class BucketSpan(NamedTuple):
    """The samples of the range of each step, its limits, and its requested length."""

    samples: Buckets
    begins: Times
    ends: Times
    length: int


Kernel = Callable[[BucketSpan], Floats]


class RollupFunction(NamedTuple):
    """A function of ranges with at least this many samples, and the fields it needs."""

    kernel: Kernel
    needs: tuple[str, ...]
    least: int = 1


def _rate(spanned: BucketSpan) -> Floats:
    samples = spanned.samples
    grown = samples.last - samples.first + samples.lost
    return _extrapolated(spanned, grown, counter=True) / ((spanned.ends - spanned.begins) / 1000)


def _increase(spanned: BucketSpan) -> Floats:
    return _rate(spanned) * (spanned.length / 1000)


def _delta(spanned: BucketSpan) -> Floats:
    samples = spanned.samples
    whole = _extrapolated(spanned, samples.last - samples.first, counter=False)
    return whole * (spanned.length / (spanned.ends - spanned.begins))


def _average(spanned: BucketSpan) -> Floats:
    return spanned.samples.total / spanned.samples.count


def _extrapolated(spanned: BucketSpan, grown: Floats, *, counter: bool) -> Floats:
    """Return the extrapolated growth, as in Prometheus."""
    samples = spanned.samples
    sampled = (samples.last_at - samples.first_at) / 1000
    average = sampled / (samples.count - 1)
    to_start = (samples.first_at - spanned.begins) / 1000
    to_end = (spanned.ends - samples.last_at) / 1000
    to_start = np.where(to_start < average * 1.1, to_start, average / 2)
    to_end = np.where(to_end < average * 1.1, to_end, average / 2)
    if counter:
        to_zero = sampled * (samples.first / grown)
        below = (grown > 0) & (samples.first >= 0) & (to_zero < to_start)
        to_start = np.where(below, to_zero, to_start)
    carried: Floats = grown * ((sampled + to_start + to_end) / sampled)
    return carried


_ENDS = ("first", "last")
LAST = RollupFunction(lambda spanned: spanned.samples.last, ("last",))
ROLLED_FUNCTIONS = {
    "rate": RollupFunction(_rate, (*_ENDS, "lost"), least=2),
    "increase": RollupFunction(_increase, (*_ENDS, "lost"), least=2),
    "delta": RollupFunction(_delta, _ENDS, least=2),
    "sum_over_time": RollupFunction(lambda spanned: spanned.samples.total, ("total",)),
    "avg_over_time": RollupFunction(_average, ("total",)),
    "min_over_time": RollupFunction(lambda spanned: spanned.samples.low, ("low",)),
    "max_over_time": RollupFunction(lambda spanned: spanned.samples.high, ("high",)),
    "count_over_time": RollupFunction(lambda spanned: spanned.samples.count, ()),
    "present_over_time": RollupFunction(lambda spanned: np.ones((1, len(spanned.ends))), ()),
    "first_over_time": RollupFunction(lambda spanned: spanned.samples.first, ("first",)),
    "last_over_time": LAST,
    "ts_of_first_over_time": RollupFunction(lambda spanned: spanned.samples.first_at / 1000, ()),
    "ts_of_last_over_time": RollupFunction(lambda spanned: spanned.samples.last_at / 1000, ()),
}
