"""Metrics of a simulated agent: bindings, source states, and its cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

import vigie
from vigie.simulation.cluster.bindings import build_node_bindings
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.noise import Times
from vigie.simulation.cluster.scenario import MINUTE, Scenario
from vigie.sources.core.registry import find_sources

SERVER = "http://vigie.local:8000"  # server of the links
STARTED_BEFORE = 8 * 86_400  # seconds before now
VENDOR_SOURCES = {"nvidia": "no NVIDIA driver", "amd": "no AMD GPU"}
NOT_SIMULATED = "not simulated"


def holder_columns(scenario: Scenario, node: str, times: Times, *, head: bool) -> Iterator[Column]:
    """Yield the bindings of a node while they last."""
    one = np.ones(len(times))
    for held in build_node_bindings(scenario, node, head=head):
        there = times >= held.from_ms
        if held.to_ms is not None:
            there = there & (times < held.to_ms)
        labels = held.gpu, held.resource, held.holder_kind, held.holder, held.user
        yield gauge("vigie_holder_info", one, *labels)._replace(there=there.astype(np.float64))


def agent_columns(
    scenario: Scenario, machine: MachineSpec, columns: Sequence[Column], times: Times
) -> Iterator[Column]:
    one = np.ones(len(times))
    names = {column.name for column in columns}
    busy = scenario.noise.each(f"{machine.name}/read", len(_sources()), times, MINUTE, 0.2)
    for number, (source, metrics) in enumerate(_sources().items()):
        why = _absent(machine, source) or ("" if metrics & names else NOT_SIMULATED)
        yield gauge("node_scrape_collector_success", one * (not why), source)
        yield gauge("node_scrape_collector_duration_seconds", np.round(2e-4 * busy[number], 7), source)
        if why:
            yield gauge("vigie_agent_source_info", one, source, "unavailable", why)
    yield gauge("vigie_agent_build_info", one, vigie.__version__, "3.11.9")
    yield rate("vigie_agent_frames_total", one / 5, start=STARTED_BEFORE / 5)
    yield rate("vigie_agent_scrapes_total", one * 0)
    yield rate("vigie_agent_read_seconds_total", one * 0.004, start=STARTED_BEFORE * 0.004)
    yield rate("vigie_agent_read_errors_total", one * 0)
    yield gauge("vigie_agent_series", one * len(columns))
    yield gauge("vigie_agent_link_waiting_bytes", one * 9_000, SERVER)
    yield rate("vigie_agent_link_dropped_total", one * 0, SERVER)
    yield from _process(scenario, machine, times)


def _process(scenario: Scenario, machine: MachineSpec, times: Times) -> Iterator[Column]:
    one = np.ones(len(times))
    cost = 0.004 * scenario.noise.around(f"{machine.name}/agent", times, MINUTE, 0.2)
    yield rate("process_cpu_seconds_total", cost, start=STARTED_BEFORE * 0.004)
    yield gauge("process_resident_memory_bytes", one * 31e6 + 1e5 * machine.gpus)
    yield gauge("process_virtual_memory_bytes", one * 120e6)
    yield gauge("process_virtual_memory_max_bytes", one * 2.0**64)
    yield gauge("process_open_fds", one * 212)
    yield gauge("process_max_fds", one * 524_288)
    yield gauge("process_start_time_seconds", one * (scenario.now_ms // 1000 - STARTED_BEFORE))
    yield gauge("process_threads", one * 6)


def _absent(machine: MachineSpec, source: str) -> str:
    """Return why a source has no data on a machine. Vendors share metric names."""
    vendor = machine.gpu.vendor if machine.gpu else ""
    return next(
        (why for word, why in VENDOR_SOURCES.items() if source.startswith(word) and word != vendor), ""
    )


@cache
def _sources() -> dict[str, frozenset[str]]:
    return {source.name: frozenset(metric.name for metric in source.metrics) for source in find_sources()}
