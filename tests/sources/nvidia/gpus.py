"""A machine under test: the simulated driver, and every NVIDIA source that reads it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from vigie.agent.source_reader import Outcome, SourceReader
from vigie.model import EventChange
from vigie.simulation.clock import SimulatedClock
from vigie.simulation.nvml.driver import SimulatedDriver
from vigie.sources import nvidia, nvidia_health, nvidia_nvlink, nvidia_processes, nvidia_profiling
from vigie.sources._nvml.driver import NvmlDriver
from vigie.sources.core.host import Host

MODULES = (nvidia, nvidia_health, nvidia_nvlink, nvidia_profiling, nvidia_processes)
NO_DCGM = {"dcgm": "off"}


class Machine:
    """Reads sources by name, and answers with their series as dictionaries."""

    def __init__(
        self, simulated: SimulatedDriver, *, profiling: Mapping[str, str] = NO_DCGM, **settings: Any
    ) -> None:
        self.simulated = simulated
        self.driver = NvmlDriver(
            str(simulated.library), node="node7", **{"retry": 0, "deadline": 5, **settings}
        )
        options = {"link_rates": "true", **profiling}
        self.readings = {
            module.SOURCE.name: SourceReader(
                module.SOURCE, Host(nvml=self.driver, options=options), SimulatedClock()
            )
            for module in MODULES
        }

    def say(self, *lines: str) -> None:
        self.simulated.set(*lines)

    def at(self, seconds: float) -> None:
        """Let the driver's clock stand at a time."""
        self.say(f"system clock {seconds}")

    def read(self, source: str = "nvidia") -> dict[tuple[str, str, str], float]:
        """Return values by name, GPU and what is behind the usual labels."""
        reading = self.readings[source]
        reading.read()
        table = reading.values
        return {
            (metric.name, labels[0], ",".join(labels[9 if "UUID" in metric.labels else 4 :])): value
            for (metric, labels), value in zip(table.table.series, table.numbers, strict=True)
        }

    def profile(self) -> dict[tuple[str, str, str], float]:
        """Return each GPU's first profiling counters: two readings need some time between."""
        found: dict[tuple[str, str, str], float] = {}

        def came() -> bool:
            for key, value in self.read("nvidia_profiling").items():
                found.setdefault(key, value)
            notes = self.notes("nvidia_profiling").values()
            return bool(found) and not any("two readings" in note for note in notes)

        until(came)
        return found

    def labels(self, name: str, gpu: str, source: str = "nvidia") -> list[dict[str, str]]:
        """Return the labels of each series of a metric of a GPU."""
        series = self.readings[source].values.table.series
        found = [dict(zip(m.labels, v, strict=True)) for m, v in series if m.name == name and v[0] == gpu]
        return [{label: value for label, value in each.items() if value} for each in found]

    def outcome(self, source: str = "nvidia") -> tuple[Outcome, str]:
        return self.readings[source].outcome, self.readings[source].reason

    def notes(self, source: str = "nvidia") -> dict[str, str]:
        return self.readings[source].host.notes

    def happenings(self) -> list[EventChange]:
        """Take what the sources said has happened."""
        found = []
        for reading in self.readings.values():
            while reading.host.event_changes:
                found.append(reading.host.event_changes.popleft())
        return found


def until(condition: Any, seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to hold"
        time.sleep(0.005)
