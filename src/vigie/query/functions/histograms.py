"""Quantiles and fractions of classic histograms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from vigie.query.arrays import Flags, Floats, Indices
from vigie.query.errors import ExecutionError
from vigie.query.functions.label_functions import is_valid_label_name
from vigie.query.functions.number_format import format_number, parse_number
from vigie.query.vectors import NAME, Key, Vector, empty_vector, label_set_key, single_series, stack_vectors

LIMIT_LABEL = "le"

# Counts that differ by less than this share are equal: sums of rates are not exact.
TOLERANCE = 1e-12


Compute = Callable[[Indices, Floats, Floats], Floats]  # steps, sorted bucket limits and counts to values


def histogram_quantile(wanted: Floats, vector: Vector) -> Vector:
    """Return the value below which the given share of the observations lies."""
    return _compute_all(vector, lambda steps, limits, counts: _quantile(wanted[steps], limits, counts))


def histogram_quantiles(vector: Vector, label: str, wanted: Sequence[Floats]) -> Vector:
    """Return several quantiles, each with its share as a label."""
    if not is_valid_label_name(label):
        raise ExecutionError(f"invalid label name {label!r} in histogram_quantiles()")
    parts = []
    for shares in wanted:
        whole = histogram_quantile(shares, vector)
        for share in np.unique(shares).tolist():
            named = [{**labels, label: _format_share(share)} for labels in whole.labels]
            present = whole.present & ((shares == share) | (np.isnan(shares) & np.isnan(share)))
            parts.append(Vector(named, whole.values, present).without_empty_rows())
    return stack_vectors(parts, vector.values.shape[1]).merge_rows()


def histogram_fraction(lower: Floats, upper: Floats, vector: Vector) -> Vector:
    """Return the share of the observations between two values."""
    return _compute_all(
        vector, lambda steps, limits, counts: _fraction(lower[steps], upper[steps], limits, counts)
    )


def _format_share(share: float) -> str:
    return f"{share:.1f}" if share.is_integer() else format_number(share)


def _compute_all(vector: Vector, compute: Compute) -> Vector:
    steps = vector.values.shape[1]
    groups: dict[Key, tuple[dict[str, str], list[tuple[float, int]]]] = {}
    for row, labels in enumerate(vector.labels):
        limit = parse_number(labels.get(LIMIT_LABEL, ""))
        if limit is not None:
            rest = {name: value for name, value in labels.items() if name not in (LIMIT_LABEL, NAME)}
            groups.setdefault(label_set_key(rest), (rest, []))[1].append((limit, row))
    parts = [_compute_one(compute, vector, labels, sorted(buckets)) for labels, buckets in groups.values()]
    return stack_vectors(parts, steps) if parts else empty_vector(steps)


def _compute_one(
    compute: Compute, vector: Vector, labels: dict[str, str], buckets: list[tuple[float, int]]
) -> Vector:
    rows = [row for _, row in buckets]
    limits = np.array([limit for limit, _ in buckets])
    counts, present = vector.values[rows], vector.present[rows]
    values = np.full(vector.values.shape[1], np.nan)
    with np.errstate(all="ignore"):
        for some, steps in _split_patterns(present):
            values[steps] = compute(steps, *_merge_equal_limits(limits[some], counts[some][:, steps]))
    present = np.logical_or.reduce(present, axis=0)
    return single_series(values, labels, present)


def _split_patterns(present: Flags) -> Iterator[tuple[Flags, Indices]]:
    """Yield each set of buckets that occurs together, with its steps."""
    if present.all():
        yield present[:, 0], np.arange(present.shape[1])
        return
    patterns, which = np.unique(present, axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        if patterns[:, number].any():
            yield patterns[:, number], np.flatnonzero(which.ravel() == number)


def _quantile(wanted: Floats, limits: Floats, counts: Floats) -> Floats:
    """Return the quantile at some steps, for buckets in the order of their limits."""
    if not np.isposinf(limits[-1]) or len(limits) < 2:
        inside = np.full(len(wanted), np.nan)
    else:
        inside = _interpolate(wanted, limits, _make_monotonic(counts))
    outside: Floats = np.where(wanted < 0, -np.inf, np.where(wanted > 1, np.inf, inside))
    return np.where(np.isnan(wanted), np.nan, outside)


def _merge_equal_limits(limits: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Add up buckets with equal limits that are formatted differently."""
    unique, starts = np.unique(limits, return_index=True)
    return unique, np.add.reduceat(counts, starts, axis=0)


def _make_monotonic(counts: Floats) -> Floats:
    """Make the counts monotonic, as Prometheus does: sums of rates may be slightly off."""
    counts = counts.copy()
    for before, row in pairwise(counts):
        close = np.abs(row - before) <= TOLERANCE * (np.abs(row) + np.abs(before))
        np.copyto(row, before, where=close | (row < before))
    return counts


def _interpolate(wanted: Floats, limits: Floats, counts: Floats) -> Floats:
    rank = wanted * counts[-1]
    reached = counts[:-1] >= rank
    bucket = np.where(reached.any(axis=0), np.argmax(reached, axis=0), len(limits) - 1)
    below = np.maximum(bucket - 1, 0)
    steps = np.arange(len(wanted))
    first = bucket == 0
    start = np.where(first, 0.0, limits[below])
    before = np.where(first, 0.0, counts[below, steps])
    share = (rank - before) / (counts[bucket, steps] - before)
    value = start + (limits[bucket] - start) * share
    value = np.where(first & (limits[0] <= 0), limits[0], value)
    value = np.where(bucket == len(limits) - 1, limits[-2], value)
    return np.where(counts[-1] == 0, np.nan, value)


def _fraction(lower: Floats, upper: Floats, limits: Floats, counts: Floats) -> Floats:
    """Return the share between two values at some steps."""
    if not np.isposinf(limits[-1]):
        return np.full(len(lower), np.nan)
    counts = _make_monotonic(counts)
    between = (_rank(upper, limits, counts) - _rank(lower, limits, counts)) / counts[-1]
    nowhere = np.isnan(lower) | np.isnan(upper) | (counts[-1] == 0)
    return np.where(nowhere, np.nan, np.where(lower >= upper, 0.0, between))


def _rank(value: Floats, limits: Floats, counts: Floats) -> Floats:
    """Return the number of observations up to a value, interpolating linearly within a bucket."""
    bucket = np.minimum(np.searchsorted(limits, value, side="left"), len(limits) - 1)
    below, steps, first = np.maximum(bucket - 1, 0), np.arange(len(value)), bucket == 0
    start = np.where(first, 0.0 if limits[0] > 0 else -np.inf, limits[below])
    before = np.where(first, 0.0, counts[below, steps])
    # A bucket without width, or without end, has all its observations at its upper limit.
    share = np.where(value >= limits[bucket], 1.0, np.clip((value - start) / (limits[bucket] - start), 0, 1))
    share = np.where(np.isnan(share) | (np.isneginf(start) & (value < limits[bucket])), 0.0, share)
    return before + (counts[bucket, steps] - before) * share
