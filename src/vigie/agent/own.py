"""What the agent says of itself: how each source went, and what the agent costs."""

from __future__ import annotations

import os
import platform
import resource
import threading
import time
from collections.abc import Iterator, Sequence

import vigie
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
    counter("process_cpu_seconds_total", "CPU time of the agent."),
    gauge("process_resident_memory_bytes", "Memory of the agent that is in RAM."),
    gauge("process_virtual_memory_bytes", "Address space of the agent."),
    gauge("process_virtual_memory_max_bytes", "The most address space that the agent may take."),
    gauge("process_open_fds", "Files that the agent holds open."),
    gauge("process_max_fds", "The most files that the agent may hold open."),
    gauge("process_start_time_seconds", "When the agent started, in seconds since 1970."),
    gauge("process_threads", "Threads of the agent."),
)
METRICS: tuple[Metric, ...] = SOURCE_METRICS + AGENT_METRICS

# What exporters conventionally say for "unlimited".
NO_LIMIT = float(2**64)


class Own:
    """Makes the agent's own table, freshly at every scrape."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self.scrapes = 0
        self._readings = readings
        self._slow = [reading for reading in readings if reading.source.slow]
        self._page = resource.getpagesize()
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._limits = [_limit(resource.RLIMIT_AS), _limit(resource.RLIMIT_NOFILE)]
        self._started = _started()
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
        return Values(self._table, (*numbers, *self._process()), plain)

    def _series(self) -> Iterator[Series]:
        for metric in SOURCE_METRICS:
            readings = self._slow if metric is AGE else self._readings
            yield from ((metric, (reading.source.name,)) for reading in readings)
        build = (vigie.__version__, platform.python_version())
        for metric in AGENT_METRICS:
            yield metric, build if metric.labels else ()

    def _process(self) -> list[float]:
        space, resident = os.pread(self._statm, 128, 0).split()[:2]
        most_space, most_files = self._limits
        return [
            round(time.process_time(), 6),
            int(resident) * self._page,
            int(space) * self._page,
            most_space,
            _open_files(),
            most_files,
            self._started,
            threading.active_count(),
        ]


def _limit(kind: int) -> float:
    limit, _ = resource.getrlimit(kind)
    return NO_LIMIT if limit == resource.RLIM_INFINITY else limit


def _open_files() -> int:
    # Linux 6.2 and newer count them for us; before that the size is 0.
    counted = os.stat("/proc/self/fd").st_size
    return counted or len(os.listdir("/proc/self/fd")) - 1  # less the one that lists them


def _started() -> float:
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()  # the name in brackets may hold anything
    after_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return round(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + after_boot, 2)
