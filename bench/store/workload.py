"""A cluster's numbers: GPU nodes with counters, gauges, histograms and many values that never change."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from vigie.model import Frame, Metric, Table, counter, gauge

Matrix = NDArray[np.float64]
Make = Callable[[np.random.Generator, int], Matrix]
Kind = tuple[str, int, Make, Callable[..., Metric]]  # name, series a metric, values, counter or gauge
TABLES = 12  # about; a metric is never parted
SERIES = 1500


class Node:
    """One node's tables, and its values step by step."""

    def __init__(self, number: int, series: int, steps: int) -> None:
        self.labels = {"instance": f"node{number:04d}", "job": "node"}
        chance = np.random.default_rng(number)
        parts = [
            part for share, kind in _KINDS for part in _columns(kind, max(1, int(series * share)), number)
        ]
        parts = parts[:series]
        self._values = np.column_stack([make(chance, steps) for _, _, make in parts])
        changes = [i for i in range(1, len(parts)) if parts[i][0] != parts[i - 1][0]]
        cuts = [min(changes, key=lambda i: abs(i - len(parts) * n // TABLES)) for n in range(1, TABLES)]
        edges = sorted({0, *cuts, len(parts)})
        self._tables = []
        for first, last in itertools.pairwise(edges):
            rows = tuple((metric, labels) for metric, labels, _ in parts[first:last])
            self._tables.append((Table(f"from {first}", 1, rows), first, last))

    def frames(self, start: int, interval: int) -> Iterator[Frame]:
        """Yield a frame for each step, as a link would hand it over."""
        for step, numbers in enumerate(self._values):
            row = numbers.tolist()
            parts = tuple((table, tuple(row[first:last])) for table, first, last in self._tables)
            yield Frame(start + step * interval, parts)


def _cpu(chance: np.random.Generator, steps: int) -> Matrix:
    busy: Matrix = np.round(np.cumsum(chance.integers(0, 1000, steps)) / 100, 2)
    return busy + float(chance.integers(10**6))


def _bytes(chance: np.random.Generator, steps: int) -> Matrix:
    return np.cumsum(chance.integers(0, 10**8, steps)).astype(np.float64)


def _percent(chance: np.random.Generator, steps: int) -> Matrix:
    return np.clip(np.cumsum(chance.integers(-3, 4, steps)) + 70, 0, 100).astype(np.float64)


def _watts(chance: np.random.Generator, steps: int) -> Matrix:
    watts: Matrix = np.round(chance.normal(500, 30, steps), 3)
    return watts


def _memory(chance: np.random.Generator, steps: int) -> Matrix:
    return np.cumsum(chance.integers(-500, 500, steps)).astype(np.float64) * 4096 + 2**36


def _bucket(chance: np.random.Generator, steps: int) -> Matrix:
    return np.cumsum(chance.poisson(3, steps)).astype(np.float64)


def _constant(chance: np.random.Generator, steps: int) -> Matrix:
    return np.full(steps, float(chance.integers(10**9)))


# Shares and kinds as in facts/store.md: 44 % never change, a third are CPU counters with two decimals.
_KINDS: tuple[tuple[float, Kind], ...] = (
    (0.34, ("cpu", 512, _cpu, counter)),
    (0.08, ("network_bytes", 4, _bytes, counter)),
    (0.05, ("gpu_percent", 8, _percent, gauge)),
    (0.02, ("gpu_watts", 8, _watts, gauge)),
    (0.02, ("memory_bytes", 1, _memory, gauge)),
    (0.05, ("request_bucket", 24, _bucket, counter)),
    (0.45, ("constant", 6, _constant, gauge)),
)


def _columns(kind: Kind, count: int, node: int) -> Iterator[tuple[Metric, tuple[str, ...], Make]]:
    name, width, make, declare = kind
    for i in range(count):
        metric = declare(f"{name}_{i // width}_total", "A number.", "device", "uuid")
        yield metric, (str(i % width), f"GPU-{node}-{i % width}" if name.startswith("gpu") else ""), make
