"""Samples with everything that makes PromQL hard: resets, gaps, ends, churn, NaN, infinities, odd times."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vigie.model.nan import ABSENT, NAN, STALE
from vigie.query.storage import Labels, SeriesGroup
from vigie.simulation.memory_storage import MemoryStorage
from vigie.store.heads.ungrouped import Samples
from vigie.store.store import Store

BASE = 1_700_004_600_000  # a block of two hours ends half an hour later
SAMPLES = 240
INTERVAL = 15_000
LIMITS = ("0.1", "0.5", "1", "5", "+Inf")


class Series(NamedTuple):
    """One series of a target; None where there is no sample."""

    labels: dict[str, str]
    values: list[float | None]


class Target(NamedTuple):
    """Series that share their times."""

    times: list[int]
    series: list[Series]


def targets(chance: random.Random, *, on_boundaries: bool) -> list[Target]:
    """Return four targets; their times are whole multiples of 15 s, or never of half a second."""
    return [_target(chance, number, on_boundaries) for number in range(4)]


def _target(chance: random.Random, number: int, on_boundaries: bool) -> Target:
    phase = 0 if on_boundaries else 1_000 * chance.randrange(14) + chance.randrange(100, 400)
    jitter = [0 if on_boundaries else chance.choice([0, 0, 0, 3, -7, 520]) for _ in range(SAMPLES)]
    times = [BASE - BASE % INTERVAL + place * INTERVAL + phase + jitter[place] for place in range(SAMPLES)]
    target = {"instance": f"node{number}", "job": "a" if number % 2 else "b"}
    series = [
        Series({"__name__": name, **target, **labels}, values)
        for name, labels, values in _metrics(chance, number, times, on_boundaries)
    ]
    return Target(times, series)


def _metrics(
    chance: random.Random, number: int, times: list[int], near_zero: bool
) -> Iterator[tuple[str, dict[str, str], list[float | None]]]:
    for cpu in ("0", "1", "2"):
        yield "work_total", {"cpu": cpu}, _counter(chance, near_zero)
    for device in ("sda", "sdb"):
        yield "level", {"device": device}, _gaps(chance, [chance.uniform(-50, 1e3) for _ in times])
    yield "wild", {}, [chance.choice([NAN, math.inf, -math.inf, 1.5, -3.0, 1e9]) for _ in times]
    yield "small", {}, _gaps(chance, [float(chance.randrange(-3, 6)) for _ in times])
    yield "started_seconds", {}, [times[0] / 1000 - 86_400 * 37 * number] * len(times)
    half = [1.0 if place < SAMPLES // 2 else None for place in range(SAMPLES)]
    yield "facts", {"version": "1.0"}, [*half[: SAMPLES // 2], STALE, *half[SAMPLES // 2 + 1 :]]
    yield from _churn(chance)
    yield "facts", {"version": "1.1"}, [None if value else 1.0 for value in half]  # churn: upgraded
    counts = np.cumsum([[chance.randrange(9) for _ in LIMITS] for _ in times], axis=0).cumsum(axis=1)
    for place, limit in enumerate(LIMITS):
        yield "took_bucket", {"le": limit}, [float(count) for count in counts[:, place]]


def _churn(chance: random.Random) -> Iterator[tuple[str, dict[str, str], list[float | None]]]:
    """Yield series that live for ten minutes each and are then said to have ended, or are just gone."""
    for number, start in enumerate(range(0, SAMPLES, 40)):
        lived = [chance.uniform(0, 100) for _ in range(40)]
        after: list[float | None] = [None] * (SAMPLES - start - 40)
        if after and number % 2:
            after[0] = STALE
        yield "task", {"id": str(number)}, [*[None] * start, *lived, *after]


def _counter(chance: random.Random, near_zero: bool) -> list[float | None]:
    """Return a counter with resets; after a gap it may be near zero only if asked for.

    There Prometheus 2 and 3 extrapolate differently, and 2.42 cannot be the judge of 3.
    """
    value, values, resets = chance.uniform(5e3, 1e4), list[float | None](), []
    for place in range(SAMPLES):
        if chance.random() < 0.02:
            value = chance.uniform(0, 5)
            resets.append(place)
        else:
            value += chance.uniform(10, 40)
        values.append(value)
    return _gaps(chance, values, () if near_zero else resets)


def _gaps(
    chance: random.Random, values: list[float | None], not_after: Sequence[int] = ()
) -> list[float | None]:
    """Take out a few stretches, some longer than the five minutes of lookback, and single samples."""
    for _ in range(5):
        start, length = chance.randrange(SAMPLES), chance.choice([1, 1, 2, 4, 30])
        end = min(start + length, SAMPLES)
        if not any(end - 8 <= place <= end for place in not_after):
            values[start:end] = [None] * (end - start)
            if length > 1 and chance.random() < 0.5:
                values[start] = STALE  # it was said to have ended
    return values


def memory_storage(data: list[Target]) -> MemoryStorage:
    """Return a store with the samples, each target's series cut in two groups at a time of its own."""
    groups = []
    for number, (times, series) in enumerate(data):
        labels: list[Labels] = [each.labels for each in series]
        matrix = np.array([[ABSENT if v is None else v for v in each.values] for each in series])
        cut = 60 + 30 * number
        groups += [
            SeriesGroup(labels, np.array(times[columns], dtype=np.int64), matrix[:, columns])
            for columns in (slice(0, cut), slice(cut, None))
        ]
    return MemoryStorage(groups)


def fill(store: Store, data: list[Target]) -> None:
    """Put the samples into a store, some time at a time, as they would arrive."""
    for batch in batches(data):
        store.append_series(Samples(*series) for series in batch)


def batches(
    data: list[Target], samples: int = 20
) -> Iterator[list[tuple[dict[str, str], list[int], list[float]]]]:
    """Yield the series in order of time, a few samples of each."""
    for first in range(0, SAMPLES, samples):
        batch = []
        for times, series in data:
            for labels, values in series:
                pairs = list(zip(times, values, strict=True))[first : first + samples]
                there = [(time, value) for time, value in pairs if value is not None]
                if there:
                    batch.append((labels, [time for time, _ in there], [value for _, value in there]))
        yield batch
