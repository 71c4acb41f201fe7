"""What the agent says of itself: how each source went, and what the agent costs."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence

import vigie
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.common import process_metrics
from vigie.model import ABSENT, Metric, Table, counter, gauge, info
from vigie.model.table import Series, TableValues
from vigie.sources.core.tree import to_printable

OUTCOME_METRICS = (
    SOURCE := info(
        "vigie_agent_source_info",
        "1 while a source gives nothing: unavailable, error or hung, and why.",
        "source",
        "state",
        "reason",
    ),
)
REASON = 200  # letters
# The first two have node exporter's names: its dashboards ask for them.
SOURCE_METRICS = (
    gauge("node_scrape_collector_duration_seconds", "How long the last read of a source took.", "collector"),
    gauge("node_scrape_collector_success", "1 when the last read of a source gave samples.", "collector"),
    AGE := gauge(
        "vigie_agent_source_age_seconds",
        "How long ago a slow source was read, which a scrape does not do.",
        "source",
    ),
)
AGENT_METRICS = (
    info("vigie_agent_build_info", "The version of the agent and of its Python.", "version", "python"),
    counter("vigie_agent_scrapes_total", "Scrapes answered since the agent started."),
    counter("vigie_agent_frames_total", "Frames made since the agent started."),
    counter("vigie_agent_read_seconds_total", "Time that reading the sources has taken."),
    counter("vigie_agent_read_errors_total", "Reads of a source that failed or passed their deadline."),
    gauge("vigie_agent_series", "Series that the sources gave at their last read."),
    *process_metrics.METRICS,
)
METRICS: tuple[Metric, ...] = SOURCE_METRICS + AGENT_METRICS


class SourceOutcomes:
    def __init__(self, readings: Sequence[SourceReader]) -> None:
        self._readings = readings
        self._said: dict[str, tuple[str, str]] = {}
        self._table = Table("outcomes", 0, ())

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return the sources that gave nothing at their last read."""
        said = {}
        for reading in self._readings:
            outcome, name = reading.outcome, reading.source.name
            if outcome not in (Outcome.OK, Outcome.PENDING):
                before = self._said.get(name)
                # The first reason stands as long as the state does: one that counts makes endless series.
                reason = before[1] if before and before[0] == outcome.value else reading.reason[:REASON]
                said[name] = outcome.value, reason
        if said != self._said:
            self._said = said
            series = tuple((SOURCE, (name, state, to_printable(why))) for name, (state, why) in said.items())
            self._table = Table("outcomes", self._table.version + 1, series)
        return self._table, (1.0,) * len(said)


class AgentMetrics:
    """Makes the agent's own table, freshly at every scrape."""

    def __init__(self, readings: Sequence[SourceReader]) -> None:
        self.scrapes = 0
        self._readings = readings
        self._slow = [reading for reading in readings if reading.source.slow]
        self._process = process_metrics.ProcessMetrics()
        self._table = Table("agent", 1, tuple(self._series()))

    def values(self, now: float, frames: int) -> TableValues:
        """Return the table as of this moment of the monotonic clock."""
        readings = self._readings
        pending = Outcome.PENDING
        numbers = [ABSENT if r.outcome is pending else r.duration for r in readings]
        numbers += [ABSENT if r.outcome is pending else int(r.outcome is Outcome.OK) for r in readings]
        numbers += [ABSENT if r.outcome is pending else round(now - r.read_at, 3) for r in self._slow]
        numbers += [1, self.scrapes, frames]
        numbers.append(round(sum([reading.seconds for reading in readings]), 6))
        numbers.append(sum([reading.errors for reading in readings]))
        numbers.append(sum([len(reading.values.numbers) for reading in readings]))
        plain = all(reading.outcome is not pending for reading in readings)
        return TableValues(self._table, (*numbers, *self._process.values()), plain)

    def _series(self) -> Iterator[Series]:
        for metric in SOURCE_METRICS:
            readings = self._slow if metric is AGE else self._readings
            yield from ((metric, (reading.source.name,)) for reading in readings)
        build = (vigie.__version__, platform.python_version())
        for metric in AGENT_METRICS:
            yield metric, build if metric.labels else ()
