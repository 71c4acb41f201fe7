"""Metrics of the agent: state of each source, and the agent's own cost."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence

import vigie
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.common import process_metrics
from vigie.model import ABSENT, Metric, Table
from vigie.model.table import Series, TableValues
from vigie.sources.core.tree import to_printable
from vigie.wire.agent_series import AGENT_METRICS, SOURCE_AGE, SOURCE_METRICS, SOURCE_STATE

REASON = 200  # characters
METRICS: tuple[Metric, ...] = (*SOURCE_METRICS, *AGENT_METRICS, *process_metrics.METRICS)


class SourceOutcomes:
    def __init__(self, readers: Sequence[SourceReader]) -> None:
        self._readers = readers
        self._failing: dict[str, tuple[str, str]] = {}
        self._table = Table("outcomes", 0, ())

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return the sources without data at their last read."""
        failing = {}
        for reader in self._readers:
            outcome, name = reader.outcome, reader.source.name
            if outcome not in (Outcome.OK, Outcome.PENDING):
                previous = self._failing.get(name)
                # Keep the first reason of a state: a changing number in it would create new series.
                reason = previous[1] if previous and previous[0] == outcome.value else reader.reason[:REASON]
                failing[name] = outcome.value, reason
        if failing != self._failing:
            self._failing = failing
            series = tuple(
                (SOURCE_STATE, (name, state, to_printable(why))) for name, (state, why) in failing.items()
            )
            self._table = Table("outcomes", self._table.version + 1, series)
        return self._table, (1.0,) * len(failing)


class AgentMetrics:
    """The agent's own table, built at every scrape."""

    def __init__(self, readers: Sequence[SourceReader]) -> None:
        self.scrapes = 0
        self._readers = readers
        self._slow = [reader for reader in readers if reader.source.slow]
        self._process = process_metrics.ProcessMetrics()
        self._table = Table("agent", 1, tuple(self._series()))

    def values(self, now: float, frames: int) -> TableValues:
        """Return the values at this monotonic time."""
        readers = self._readers
        pending = Outcome.PENDING
        numbers = [ABSENT if r.outcome is pending else r.duration for r in readers]
        numbers += [ABSENT if r.outcome is pending else int(r.outcome is Outcome.OK) for r in readers]
        numbers += [ABSENT if r.outcome is pending else round(now - r.read_at, 3) for r in self._slow]
        numbers += [1, self.scrapes, frames]
        numbers.append(round(sum([reader.seconds for reader in readers]), 6))
        numbers.append(sum([reader.errors for reader in readers]))
        numbers.append(sum([len(reader.values.numbers) for reader in readers]))
        plain = all(reader.outcome is not pending for reader in readers)
        return TableValues(self._table, (*numbers, *self._process.values()), plain)

    def _series(self) -> Iterator[Series]:
        for metric in SOURCE_METRICS:
            readers = self._slow if metric is SOURCE_AGE else self._readers
            yield from ((metric, (reader.source.name,)) for reader in readers)
        build = (vigie.__version__, platform.python_version())
        for metric in (*AGENT_METRICS, *process_metrics.METRICS):
            yield metric, build if metric.labels else ()
