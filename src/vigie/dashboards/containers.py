"""Containers: resource usage by container."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import ANY_BAD, RATIO_HIGH, build_multi_panel, build_panel, rate
from vigie.model.dashboard import Dashboard, Panel, Section, Variable

_NEEDS = "the `containers` source (on by default), or cAdvisor"
_NEEDS_PRESSURE = f"{_NEEDS}, and cgroup v2 on the node"
_VARIABLES = (
    Variable("node", "Nodes", metric='container_last_seen{name!=""}', by="instance", multi=True),
    Variable(
        "name", "Containers", metric='container_last_seen{instance=~"$node", name!=""}', by="name", multi=True
    ),
)
_THEM = 'instance=~"$node", name=~"$name"'
_NAME = "{{instance}} {{name}}"


def _each(title: str, why: str, unit: str, promql: str, needs: str = _NEEDS, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, _NAME, needs=needs, **rest)


def _rate(metric: str) -> str:
    return f"sum by (instance, name) ({rate(metric, _THEM)})"


_CPU = (
    _each(
        "CPU used",
        "In cores. Flat at a round number is a limit.",
        "count",
        _rate("container_cpu_usage_seconds_total"),
    ),
    _each(
        "CPU throttled",
        "Share of time throttled by its CPU limit. Raise the limit or reduce the load.",
        "ratio",
        _rate("container_cpu_cfs_throttled_seconds_total"),
    ),
    _each(
        "Waiting for CPU",
        "Share of time with tasks waiting for CPU.",
        "ratio",
        _rate("container_pressure_cpu_waiting_seconds_total"),
        _NEEDS_PRESSURE,
    ),
    _each("Threads", "At its limit no further thread can start.", "count", f"container_threads{{{_THEM}}}"),
    _each(
        "Processes", "Steady growth: processes are not reaped.", "count", f"container_processes{{{_THEM}}}"
    ),
)
_MEMORY = (
    _each(
        "Memory including page cache",
        "What the node gets back when it ends.",
        "bytes",
        f"container_memory_usage_bytes{{{_THEM}}}",
    ),
    _each(
        "Working set",
        "Steady growth is a leak.",
        "bytes",
        f"container_memory_working_set_bytes{{{_THEM}}}",
    ),
    _each(
        "Memory vs limit",
        "At 100% processes are OOM-killed.",
        "ratio",
        f"container_memory_working_set_bytes{{{_THEM}}} / (container_spec_memory_limit_bytes{{{_THEM}}} > 0)",
        thresholds=RATIO_HIGH,
        ceiling=1,
    ),
    _each(
        "Memory limit reached",
        "Each time it waits for memory to be reclaimed.",
        "ops/s",
        _rate("container_memory_failcnt"),
    ),
    _each(
        "OOM kills",
        "Each one ended a process in the container.",
        "count",
        f"increase(container_oom_events_total{{{_THEM}}}[1h])",
        thresholds=ANY_BAD,
    ),
)
_IO = (
    build_multi_panel(
        "Network",
        "Top network users.",
        "bytes/s",
        {
            f"{_NAME} in": _rate("container_network_receive_bytes_total"),
            f"{_NAME} out": _rate("container_network_transmit_bytes_total"),
        },
        needs=_NEEDS,
    ),
    build_multi_panel(
        "Disk",
        "Top disk users.",
        "bytes/s",
        {
            f"{_NAME} read": _rate("container_fs_reads_bytes_total"),
            f"{_NAME} written": _rate("container_fs_writes_bytes_total"),
        },
        needs=_NEEDS,
    ),
    _each(
        "Waiting for I/O",
        "Share of time with tasks waiting for I/O.",
        "ratio",
        _rate("container_pressure_io_waiting_seconds_total"),
        _NEEDS_PRESSURE,
    ),
    build_multi_panel(
        "Disk operations",
        "Many small ones keep a disk busy.",
        "ops/s",
        {
            f"{_NAME} read": _rate("container_fs_reads_total"),
            f"{_NAME} written": _rate("container_fs_writes_total"),
        },
        needs=_NEEDS,
    ),
    _each(
        "Space used",
        "Data written outside volumes. Lost with the container.",
        "bytes",
        f"container_fs_usage_bytes{{{_THEM}}}",
    ),
)

DASHBOARD = Dashboard(
    "containers",
    "Containers",
    "CPU, memory, network and disk by container.",
    (Section("CPU", _CPU), Section("Memory", _MEMORY), Section("Network and disk", _IO)),
    _VARIABLES,
)
