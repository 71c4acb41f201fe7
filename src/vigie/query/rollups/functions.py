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
    min_samples: int = 1


def _rate(span: BucketSpan) -> Floats:
    samples = span.samples
    growth = samples.last - samples.first + samples.lost
    return _extrapolate(span, growth, counter=True) / ((span.ends - span.begins) / 1000)


def _increase(span: BucketSpan) -> Floats:
    return _rate(span) * (span.length / 1000)


def _delta(span: BucketSpan) -> Floats:
    samples = span.samples
    whole = _extrapolate(span, samples.last - samples.first, counter=False)
    return whole * (span.length / (span.ends - span.begins))


def _average(span: BucketSpan) -> Floats:
    return span.samples.total / span.samples.count


def _extrapolate(span: BucketSpan, growth: Floats, *, counter: bool) -> Floats:
    """Return the extrapolated growth, as in Prometheus."""
    samples = span.samples
    sampled = (samples.last_at - samples.first_at) / 1000
    average = sampled / (samples.count - 1)
    to_start = (samples.first_at - span.begins) / 1000
    to_end = (span.ends - samples.last_at) / 1000
    to_start = np.where(to_start < average * 1.1, to_start, average / 2)
    to_end = np.where(to_end < average * 1.1, to_end, average / 2)
    if counter:
        to_zero = sampled * (samples.first / growth)
        below = (growth > 0) & (samples.first >= 0) & (to_zero < to_start)
        to_start = np.where(below, to_zero, to_start)
    carried: Floats = growth * ((sampled + to_start + to_end) / sampled)
    return carried


_ENDS = ("first", "last")
LAST = RollupFunction(lambda span: span.samples.last, ("last",))
ROLLUP_FUNCTIONS = {
    "rate": RollupFunction(_rate, (*_ENDS, "lost"), min_samples=2),
    "increase": RollupFunction(_increase, (*_ENDS, "lost"), min_samples=2),
    "delta": RollupFunction(_delta, _ENDS, min_samples=2),
    "sum_over_time": RollupFunction(lambda span: span.samples.total, ("total",)),
    "avg_over_time": RollupFunction(_average, ("total",)),
    "min_over_time": RollupFunction(lambda span: span.samples.low, ("low",)),
    "max_over_time": RollupFunction(lambda span: span.samples.high, ("high",)),
    "count_over_time": RollupFunction(lambda span: span.samples.count, ()),
    "present_over_time": RollupFunction(lambda span: np.ones((1, len(span.ends))), ()),
    "first_over_time": RollupFunction(lambda span: span.samples.first, ("first",)),
    "last_over_time": LAST,
    "ts_of_first_over_time": RollupFunction(lambda span: span.samples.first_at / 1000, ()),
    "ts_of_last_over_time": RollupFunction(lambda span: span.samples.last_at / 1000, ()),
}
