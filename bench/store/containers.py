"""Containers that come and go on a node: ten series each, and a few of them are others at every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bench.store.fleet import Matrix, Node, few_parts_of
from vigie.model import Frame, Table, counter, gauge

LABELS = ("id", "image", "pod", "user")
METRICS = (
    *(
        counter(f"container_{what}_total", "A count.", *LABELS)
        for what in (
            "cpu_usage_seconds",
            "cpu_system_seconds",
            "fs_reads_bytes",
            "fs_writes_bytes",
            "network_receive_bytes",
            "network_transmit_bytes",
        )
    ),
    *(
        gauge(f"container_{what}", "A number.", *LABELS)
        for what in ("memory_usage_bytes", "memory_working_set_bytes", "processes", "threads")
    ),
)
SECONDS = 2  # how many of the metrics count seconds, not bytes
COUNTERS = 6


class Container(NamedTuple):
    """What a container is called, and its numbers, one row for each step of its life."""

    labels: tuple[str, ...]
    born: int
    values: Matrix


class Churn:
    """A node with 500 series that stay, and containers of which a part is replaced at every step."""

    def __init__(self, number: int, containers: int, replaced: int) -> None:
        self.node = Node(number, few_parts_of(number))
        self._number, self._chance = number, np.random.default_rng(10_000 + number)
        self._count, self._replaced = containers, replaced
        self._life = containers // replaced if replaced else 0
        self._living: list[Container] = []
        self._made = 0

    @property
    def width(self) -> int:
        """Return how many series there are at a time."""
        return len(self.node.series) + self._count * len(METRICS)

    def step(self, step: int) -> list[Container]:
        """Return the containers of a step."""
        self._living = [one for one in self._living if step - one.born < len(one.values)]
        while len(self._living) < self._count:
            # The first ones end one after the other, so that the same number comes at every step.
            early = (len(self._living) // self._replaced + 1) if not step else self._life
            self._living.append(self._container(step, early))
        return self._living

    def frame(self, step: int, time: int, numbers: Matrix) -> Frame:
        """Return all numbers of a step as one frame."""
        row = numbers.tolist()
        parts = [(table, tuple(row[first:last])) for table, first, last in self.node.tables]
        if self._count:
            living = self.step(step)
            series = tuple((metric, one.labels) for one in living for metric in METRICS)
            values = np.concatenate([one.values[step - one.born] for one in living])
            parts.append((Table("containers", step + 1, series), tuple(values.tolist())))
        return Frame(time, tuple(parts))

    def _container(self, step: int, life: int) -> Container:
        self._made += 1
        name = f"{self._chance.bytes(8).hex()}"
        labels = (name, f"images/{self._made % 7}", f"train-{self._made}-{name[:5]}", f"u{self._made % 20}")
        grown = np.cumsum(self._chance.integers(0, 10**6, (life, len(METRICS))), axis=0).astype(np.float64)
        grown[:, :SECONDS] = np.round(grown[:, :SECONDS] / 1e6, 2)
        moved = self._chance.integers(-500, 500, (life, len(METRICS))).cumsum(axis=0) + 10**6
        grown[:, COUNTERS:-2] = moved[:, COUNTERS:-2] * 4096
        grown[:, -2:] = self._chance.integers(1, 9, len(METRICS))[-2:]
        return Container(labels, step, grown)


def finished(churn: Churn, first: int, last: int) -> Iterator[tuple[Container, int, int]]:
    """Yield every container of some steps, with the first step it is there in and the one behind the last."""
    seen: dict[tuple[str, ...], Container] = {}
    for step in range(first, last):
        seen.update((one.labels, one) for one in churn.step(step))
    for one in seen.values():
        yield one, max(first, one.born), min(last, one.born + len(one.values))
