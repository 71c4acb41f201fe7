"""Scheduler statistics by CPU, from /proc/schedstat."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    RUNNING := counter("node_schedstat_running_seconds_total", "Seconds tasks ran on the CPU.", "cpu"),
    WAITING := counter(
        "node_schedstat_waiting_seconds_total",
        "Seconds tasks waited for the CPU.",
        "cpu",
    ),
    SLICES := counter("node_schedstat_timeslices_total", "Timeslices run on the CPU.", "cpu"),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the last three of each CPU's nine numbers, without domains."""
    for row in host.proc.read("schedstat").split("\ncpu")[1:]:
        cpu, *numbers = row.split(None, 10)[:10]
        try:
            if len(numbers) != 9:
                raise ValueError(f"{len(numbers)} columns")
            running, waiting, slices = map(int, numbers[6:])
            yield RUNNING, (cpu,), running / 1e9
            yield WAITING, (cpu,), waiting / 1e9
            yield SLICES, (cpu,), slices
        except (ValueError, OverflowError) as error:
            host.note(f"/proc/schedstat cpu{cpu}", error)


SOURCE = Source("schedstat", METRICS, read)
