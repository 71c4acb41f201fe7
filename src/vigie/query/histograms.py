"""histogram_quantile over classic histograms, whose buckets are series with the label `le`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from vigie.query.numbers import read
from vigie.query.vectors import NAME, Flags, Floats, Indices, Key, Vector, empty, key_of, single, stacked

LIMIT = "le"

# Counts that differ by less than this share are equal: sums of rates are never exact.
TOLERANCE = 1e-12


def histogram_quantile(wanted: Floats, vector: Vector) -> Vector:
    """Return the value below which the wanted share of the observations lies."""
    steps = vector.values.shape[1]
    groups: dict[Key, tuple[dict[str, str], list[tuple[float, int]]]] = {}
    for row, labels in enumerate(vector.labels):
        limit = read(labels.get(LIMIT, ""))
        if limit is not None:
            rest = {name: value for name, value in labels.items() if name not in (LIMIT, NAME)}
            groups.setdefault(key_of(rest), (rest, []))[1].append((limit, row))
    parts = [_of_one(wanted, vector, labels, sorted(buckets)) for labels, buckets in groups.values()]
    return stacked(parts, steps) if parts else empty(steps)


def _of_one(
    wanted: Floats, vector: Vector, labels: dict[str, str], buckets: list[tuple[float, int]]
) -> Vector:
    rows = [row for _, row in buckets]
    limits = np.array([limit for limit, _ in buckets])
    counts, present = vector.values[rows], vector.present[rows]
    values = np.full(len(wanted), np.nan)
    with np.errstate(all="ignore"):
        for some, steps in _patterns(present):
            values[steps] = _quantile(wanted[steps], limits[some], counts[some][:, steps])
    there = np.logical_or.reduce(present, axis=0)
    return single(values, labels, there)


def _patterns(present: Flags) -> Iterator[tuple[Flags, Indices]]:
    """Yield each set of buckets that occurs together, with the steps at which it does."""
    if present.all():
        yield present[:, 0], np.arange(present.shape[1])
        return
    patterns, which = np.unique(present, axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        if patterns[:, number].any():
            yield patterns[:, number], np.flatnonzero(which.ravel() == number)


def _quantile(wanted: Floats, limits: Floats, counts: Floats) -> Floats:
    """Return the quantile at some steps, for buckets in the order of their limits."""
    limits, counts = _coalesced(limits, counts)
    if not np.isposinf(limits[-1]) or len(limits) < 2:
        inside = np.full(len(wanted), np.nan)
    else:
        inside = _interpolated(wanted, limits, _monotonic(counts))
    outside: Floats = np.where(wanted < 0, -np.inf, np.where(wanted > 1, np.inf, inside))
    return np.where(np.isnan(wanted), np.nan, outside)


def _coalesced(limits: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Add up buckets whose limits are the same number, spelled differently."""
    unique, starts = np.unique(limits, return_index=True)
    return unique, np.add.reduceat(counts, starts, axis=0)


def _monotonic(counts: Floats) -> Floats:
    """Make the counts grow, as those of one scrape do and those of sums of rates nearly do."""
    counts = counts.copy()
    for before, row in pairwise(counts):
        close = np.abs(row - before) <= TOLERANCE * (np.abs(row) + np.abs(before))
        np.copyto(row, before, where=close | (row < before))
    return counts


def _interpolated(wanted: Floats, limits: Floats, counts: Floats) -> Floats:
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
