"""Containers: what each takes of its node."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import ANY_BAD, RATIO_HIGH, build_multi_panel, build_panel, rate
from vigie.model.dashboard import Dashboard, Panel, Section, Variable

_NEEDS = "a cAdvisor beside the agent, or one that is scraped (a source of our own is to come)"
_VARIABLES = (
    Variable("node", "Nodes", metric='container_last_seen{name!=""}', by="instance", multi=True),
    Variable(
        "name", "Containers", metric='container_last_seen{instance=~"$node", name!=""}', by="name", multi=True
    ),
)
_THEM = 'instance=~"$node", name=~"$name"'
_NAME = "{{instance}} {{name}}"


def _each(title: str, why: str, unit: str, promql: str, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, _NAME, needs=_NEEDS, floor=0, **rest)


def _rate(metric: str) -> str:
    return f"sum by (instance, name) ({rate(metric, _THEM)})"


_CPU = (
    _each(
        "CPU used",
        "In cores: flat at a round number is a limit.",
        "count",
        _rate("container_cpu_usage_seconds_total"),
    ),
    _each(
        "Held back by its CPU limit",
        "Share of time in which its quota was used up: raise it or use less.",
        "ratio",
        _rate("container_cpu_cfs_throttled_seconds_total"),
    ),
    _each(
        "Waiting for CPU",
        "Share of time in which something in it waited for a core.",
        "ratio",
        _rate("container_pressure_cpu_waiting_seconds_total"),
    ),
    _each(
        "Load",
        "Tasks that run or wait: above its cores they wait.",
        "count",
        f"container_cpu_load_average_10s{{{_THEM}}} / 1000",
    ),
    _each("Processes", "One that only grows forks without end.", "count", f"container_processes{{{_THEM}}}"),
)
_MEMORY = (
    _each(
        "Memory, page cache included",
        "What the node would get back if it ended.",
        "bytes",
        f"container_memory_usage_bytes{{{_THEM}}}",
    ),
    _each(
        "Memory that cannot be dropped",
        "A line that only climbs is a leak.",
        "bytes",
        f"container_memory_working_set_bytes{{{_THEM}}}",
    ),
    _each(
        "Memory of its limit",
        "At 100% the kernel kills.",
        "ratio",
        f"container_memory_working_set_bytes{{{_THEM}}} / (container_spec_memory_limit_bytes{{{_THEM}}} > 0)",
        thresholds=RATIO_HIGH,
        ceiling=1,
    ),
    _each(
        "Memory limit hit",
        "Each hit makes it wait for memory to be freed.",
        "ops/s",
        _rate("container_memory_failcnt"),
    ),
    _each(
        "Killed for want of memory",
        "Each one ended something within it.",
        "count",
        f"increase(container_oom_events_total{{{_THEM}}}[1h])",
        thresholds=ANY_BAD,
    ),
)
_IO = (
    build_multi_panel(
        "Network",
        "Who fills the wire.",
        "bytes/s",
        {
            f"{_NAME} in": _rate("container_network_receive_bytes_total"),
            f"{_NAME} out": _rate("container_network_transmit_bytes_total"),
        },
        needs=_NEEDS,
        floor=0,
    ),
    build_multi_panel(
        "Disk",
        "Who fills the disk's queue.",
        "bytes/s",
        {
            f"{_NAME} read": _rate("container_fs_reads_bytes_total"),
            f"{_NAME} written": _rate("container_fs_writes_bytes_total"),
        },
        needs=_NEEDS,
        floor=0,
    ),
    _each(
        "Waiting for I/O",
        "Share of time in which something in it waited for a disk.",
        "ratio",
        _rate("container_pressure_io_waiting_seconds_total"),
    ),
    _each(
        "Disk busy",
        "Share of time in which it had requests under way.",
        "ratio",
        _rate("container_fs_io_time_seconds_total"),
    ),
    _each(
        "Space used",
        "What it wrote beside its image: it is gone when the container is.",
        "bytes",
        f"container_fs_usage_bytes{{{_THEM}}}",
    ),
)

DASHBOARD = Dashboard(
    "containers",
    "Containers",
    "What each container takes of its node: CPU, memory, network and disk.",
    (Section("CPU", _CPU), Section("Memory", _MEMORY), Section("Network and disk", _IO)),
    _VARIABLES,
)
