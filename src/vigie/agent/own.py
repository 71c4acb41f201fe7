"""What the agent says of itself: how each source went, and what the agent costs."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence

import vigie
from vigie.agent import process
from vigie.agent.reading import Outcome, Reading, Values
from vigie.model import ABSENT, Metric, Table, counter, gauge, info
from vigie.model.table import Series

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
    *process.METRICS,
)
METRICS: tuple[Metric, ...] = SOURCE_METRICS + AGENT_METRICS


class Own:
    """Makes the agent's own table, freshly at every scrape."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self.scrapes = 0
        self._readings = readings
        self._slow = [reading for reading in readings if reading.source.slow]
        self._process = process.Process()
        self._table = Table("agent", 1, tuple(self._series()))

    def values(self, now: float, frames: int) -> Values:
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
        return Values(self._table, (*numbers, *self._process.values()), plain)

    def _series(self) -> Iterator[Series]:
        for metric in SOURCE_METRICS:
            readings = self._slow if metric is AGE else self._readings
            yield from ((metric, (reading.source.name,)) for reading in readings)
        build = (vigie.__version__, platform.python_version())
        for metric in AGENT_METRICS:
            yield metric, build if metric.labels else ()
