"""Columns of values for declared metrics: maps the model's state to what sources would read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from vigie.agent import metrics
from vigie.model import ABSENT, Metric
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.sources.core.registry import find_sources
from vigie.wire import agent_series, llm_series, triton_series

WHOLE = ("_bytes_total", "_packets_total", "_completed_total")  # events, not time


class Column(NamedTuple):
    """One series over time. `values` are rates per second for a counter, values for a gauge."""

    name: str
    labels: tuple[str, ...]
    values: Numbers
    rate: bool = False
    start: float = 0.0  # initial value of a counter
    there: Numbers | None = None  # 0 where absent
    source: str = ""  # table; by default the first word of the name


def gauge(name: str, values: Numbers, *labels: str) -> Column:
    return Column(name, labels, values)


def rate(name: str, values: Numbers, *labels: str, start: float = 0.0) -> Column:
    """Return a column of a counter, given its rate per second."""
    return Column(name, labels, values, True, start)


class UndeclaredMetricError(Exception):
    """A metric that no source declares."""


@cache
def _declared_metrics() -> tuple[dict[str, Metric], tuple[Metric, ...]]:
    others: tuple[tuple[Metric, ...], ...] = (
        triton_series.METRICS,
        llm_series.METRICS,
    )
    others += (metrics.METRICS, agent_series.METRICS)
    others += (tuple(metric._replace(labels=("port",)) for metric in agent_series.EXPORTER_METRICS),)
    every = [metric for source in find_sources() for metric in source.metrics]
    every += [metric for metrics in others for metric in metrics]
    plain = {metric.name: metric for metric in every if "*" not in metric.name}
    return plain, tuple(metric for metric in every if "*" in metric.name)


@cache
def find_metric(name: str, labels: int) -> Metric:
    """Return the declared metric of a name, or raise UndeclaredMetricError."""
    plain, families = _declared_metrics()
    found = plain.get(name)
    if found is None:
        family = next((each for each in families if each.matches(name)), None)
        if family is None:
            raise UndeclaredMetricError(f"no source declares {name}")
        head, _, tail = family.name.partition("*")
        found = family.expand(name[len(head) : len(name) - len(tail) if tail else None])
    if len(found.labels) != labels:
        raise UndeclaredMetricError(f"{name} has labels {found.labels}, not {labels} labels")
    return found


class CounterColumns:
    """Accumulates counters from one period to the next."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, tuple[str, ...]], float] = {}
        self._at: int | None = None

    def accumulate(self, times: Times, columns: Iterable[Column]) -> list[Numbers]:
        """Return the values of all columns, with accumulated counters."""
        before = times[0] if self._at is None else self._at
        seconds = np.diff(times, prepend=before) / 1000.0
        self._at = int(times[-1])
        return [_label_positions(column, self._accumulate_column(column, seconds)) for column in columns]

    def _accumulate_column(self, column: Column, seconds: Numbers) -> Numbers:
        if not column.rate:
            return column.values
        key = column.name, column.labels
        grown = self._last.get(key, column.start) + np.cumsum(column.values * seconds)
        self._last[key] = float(grown[-1])
        return np.floor(grown) if column.name.endswith(WHOLE) else grown


def _label_positions(column: Column, values: Numbers) -> Numbers:
    """Return the values, absent where the device is."""
    return values if column.there is None else np.where(column.there > 0, values, ABSENT)
