"""A made-up fleet of GPU nodes: 1500 series each under the names that real exporters use, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vigie.model import Frame, Metric, Table, counter, gauge

Matrix = NDArray[np.float64]
Times = NDArray[np.int64]
SERIES = 1500
INTERVAL = 15_000


class Part(NamedTuple):
    """Columns of one sort: they share a table and the way their numbers move."""

    table: str
    move: str
    series: tuple[tuple[Metric, tuple[str, ...]], ...]


def _cross(metric: Metric, *values: tuple[str, ...]) -> list[tuple[Metric, tuple[str, ...]]]:
    return [(metric, labels) for labels in product(*values)]


def _numbered(count: int, prefix: str = "") -> tuple[str, ...]:
    return tuple(f"{prefix}{i}" for i in range(count))


def _cpu(table: str, move: str, *modes: str) -> Part:
    seconds = counter("node_cpu_seconds_total", "Seconds.", "cpu", "mode")
    return Part(table, move, tuple(_cross(seconds, _numbered(64), modes)))


def _devices(table: str, move: str, label: str, devices: tuple[str, ...], *names: str) -> Part:
    metrics = [counter(name, "A count.", label) for name in names]
    return Part(table, move, tuple(one for metric in metrics for one in _cross(metric, devices)))


def _gpus(node: int, move: str, *fields: str) -> Part:
    labels = [(str(gpu), f"GPU-{node:04d}-{gpu}", "NVIDIA H100 80GB HBM3") for gpu in range(8)]
    metrics = [gauge(f"DCGM_FI_{field}", "A field.", "gpu", "UUID", "modelName") for field in fields]
    return Part("dcgm", move, tuple((metric, each) for metric in metrics for each in labels))


def _plain(table: str, move: str, count: int) -> Part:
    return Part(table, move, tuple((gauge(f"node_{table}_{i}", "A number."), ()) for i in range(count)))


def _buckets() -> Part:
    bucket = counter("http_request_duration_seconds_bucket", "Requests.", "handler", "le")
    bounds = ("0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf")
    return Part("http", "bucket", tuple(_cross(bucket, _numbered(6, "/api/"), bounds)))


def parts_of(node: int) -> list[Part]:
    """Return all that a node has: 1500 series, of which 44 % never change."""
    nics, disks, ports = _numbered(8, "eth"), _numbered(8, "nvme"), _numbered(8, "mlx5_")
    net, disk, ib = "node_network_", "node_disk_", "node_infiniband_"
    used, prof = ("DEV_GPU_UTIL", "DEV_MEM_COPY_UTIL", "DEV_GPU_TEMP", "DEV_MEMORY_TEMP"), "PROF_"
    ratios = tuple(prof + name for name in ("SM_ACTIVE", "SM_OCCUPANCY", "TENSOR_ACTIVE", "DRAM_ACTIVE"))
    totals = (
        "DEV_ENERGY",
        "DEV_FB_USED",
        "NVLINK_TX",
        "NVLINK_RX",
        "PCIE_TX",
        "PCIE_RX",
        "SM_CLOCK",
        "MEM_CLOCK",
    )
    parts = [
        _cpu("cpu", "cpu", "user", "system", "iowait", "softirq", "idle"),
        _cpu("cpu", "constant", "nice", "irq", "steal"),
        _gpus(node, "percent", *used, *ratios, "DEV_ENC_UTIL", "DEV_DEC_UTIL"),
        _gpus(node, "watts", "DEV_POWER_USAGE"),
        _gpus(node, "bytes", *totals),
        _gpus(node, "constant", *(f"DEV_SETTING_{i}" for i in range(11))),
        _devices(
            "netdev",
            "bytes",
            "device",
            nics,
            *(
                net + f"{way}_{what}_total"
                for way in ("receive", "transmit")
                for what in ("bytes", "packets")
            ),
        ),
        _devices(
            "netdev",
            "constant",
            "device",
            nics,
            *(net + f"{way}_{what}_total" for way in ("receive", "transmit") for what in ("errs", "drop")),
        ),
        _devices("disk", "bytes", "device", disks, *(f"{disk}io_{i}_total" for i in range(8))),
        _devices("disk", "constant", "device", disks, *(f"{disk}rare_{i}_total" for i in range(4))),
        _devices("infiniband", "bytes", "device", ports, *(f"{ib}port_{i}_total" for i in range(4))),
        _devices("infiniband", "constant", "device", ports, *(f"{ib}error_{i}_total" for i in range(4))),
        _plain("memory", "memory", 56),
        _plain("vmstat", "events", 132),
        _buckets(),
        _plain("setting", "constant", 264),
    ]
    assert sum(len(part.series) for part in parts) == SERIES
    return parts


def few_parts_of(node: int) -> list[Part]:
    """Return a third of it: 500 series of the same sorts."""
    parts = [part for part in parts_of(node) if part.table in ("dcgm", "netdev", "memory", "vmstat")]
    left = 500 - sum(len(part.series) for part in parts)
    return [*parts, _plain("setting", "constant", left)]


class Node:
    """One node: what it is called, and its numbers as time goes by."""

    def __init__(self, number: int, parts: list[Part] | None = None) -> None:
        self.labels = {"instance": f"node{number:04d}", "job": "node"}
        self._chance = np.random.default_rng(number)
        self._parts = parts_of(number) if parts is None else parts
        self.series = [one for part in self._parts for one in part.series]
        self._state = {i: self._begin(part) for i, part in enumerate(self._parts)}
        self._phase = int(self._chance.integers(INTERVAL))
        edges = [0, *np.cumsum([len(part.series) for part in self._parts]).tolist()]
        self.tables = [
            (Table(f"{part.table} {part.move}", 1, part.series), first, last)
            for part, (first, last) in zip(self._parts, pairwise(edges), strict=True)
        ]

    def times(self, start: int, first: int, steps: int) -> Times:
        """Return the times of some steps: the node's own phase, and jitter at every tenth."""
        jitter = np.where(self._chance.random(steps) < 0.1, self._chance.integers(-3, 12, steps), 0)
        times: Times = (
            start + self._phase + np.arange(first, first + steps, dtype=np.int64) * INTERVAL + jitter
        )
        return times

    def values(self, steps: int) -> Matrix:
        """Return the numbers of the next steps, one row for each."""
        moved = [self._move(i, part, steps) for i, part in enumerate(self._parts)]
        return np.concatenate(moved, axis=1)

    def frames(self, times: Times, values: Matrix) -> Iterator[Frame]:
        """Yield a frame for each step, as a link would hand it over."""
        for time, numbers in zip(times.tolist(), values.tolist(), strict=True):
            yield Frame(
                time, tuple((table, tuple(numbers[first:last])) for table, first, last in self.tables)
            )

    def _begin(self, part: Part) -> Matrix:
        if part.move in ("percent", "watts"):
            return np.full(len(part.series), 70.0)
        return self._chance.integers(10**6, 10**9, len(part.series)).astype(np.float64)

    def _move(self, number: int, part: Part, steps: int) -> Matrix:
        shape = (steps, len(part.series))
        if part.move == "constant":
            return np.broadcast_to(self._state[number], shape)
        if part.move == "watts":
            return np.round(self._chance.normal(500, 30, shape), 3)
        grown = np.cumsum(self._drawn(part.move, shape), axis=0, dtype=np.float64) + self._state[number]
        self._state[number] = grown[-1]
        if part.move == "percent":
            return np.clip(grown, 0, 100)
        if part.move == "memory":
            return grown * 4096
        return np.round(grown / 100, 2) if part.move == "cpu" else grown

    def _drawn(self, move: str, shape: tuple[int, int]) -> NDArray[np.int64]:
        if move == "bucket":  # each bucket counts what the ones below it count, too
            counts = self._chance.poisson(3, (shape[0], 6, 12))
            return np.cumsum(counts, axis=2).reshape(shape)
        low, high = {
            "cpu": (0, 1000),
            "events": (0, 1000),
            "bytes": (0, 10**8),
            "percent": (-3, 4),
            "memory": (-500, 500),
        }[move]
        return self._chance.integers(low, high, shape)
