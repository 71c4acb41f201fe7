"""Node detail: all metrics of the host sources."""

from __future__ import annotations

from typing import Any

from vigie.dashboards import _host, _host_detail
from vigie.dashboards._build import RATIO_HIGH, build_panel, rate
from vigie.dashboards._choices import A_NODE, ON_HOST
from vigie.dashboards._host_kernel import CLOCK, KERNEL, PROCESSES, SOCKETS
from vigie.dashboards._host_more import CPUS, DISKS, FILES, HARDWARE, MEMORY, NETWORK
from vigie.model.dashboard import Dashboard, Panel, Section

_ROOT = f'{ON_HOST}, mountpoint="/"'
_TOTAL = f"node_memory_MemTotal_bytes{{{ON_HOST}}}"
_SWAP = f"node_memory_SwapTotal_bytes{{{ON_HOST}}}"
_CORES = f'count(count by (instance, cpu) (node_cpu_seconds_total{{{ON_HOST}, mode="idle"}}))'
_IDLE = rate("node_cpu_seconds_total", f'{ON_HOST}, mode="idle"')


def _number(title: str, why: str, unit: str, promql: str, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", **rest)


_NOW = (
    _number(
        "CPU busy",
        "Near 100% for long: work is queued.",
        "ratio",
        f"1 - avg({_IDLE})",
        thresholds=RATIO_HIGH,
    ),
    _number(
        "Load (15m) per core",
        "Above 100% tasks wait for a core or disk.",
        "ratio",
        f"sum(node_load15{{{ON_HOST}}}) / {_CORES}",
    ),
    _number(
        "Memory used",
        "Memory that cannot be reclaimed.",
        "ratio",
        f"1 - node_memory_MemAvailable_bytes{{{ON_HOST}}} / {_TOTAL}",
        thresholds=RATIO_HIGH,
    ),
    _number(
        "Swap used",
        "Any swap use slows a compute node.",
        "ratio",
        f"1 - node_memory_SwapFree_bytes{{{ON_HOST}}} / ({_SWAP} > 0) or 0 * {_SWAP}",
    ),
    _number(
        "Root file system used",
        "A full root file system stops everything.",
        "ratio",
        f"1 - node_filesystem_avail_bytes{{{_ROOT}}} / node_filesystem_size_bytes{{{_ROOT}}}",
        thresholds=RATIO_HIGH,
    ),
    _number(
        "Uptime",
        "Short: the node was rebooted recently.",
        "seconds",
        f"node_time_seconds{{{ON_HOST}}} - node_boot_time_seconds{{{ON_HOST}}}",
    ),
    _number("Cores", "Online cores. Fewer than installed are disabled.", "count", _CORES),
    _number("Memory total", "Less than installed: a module failed.", "bytes", _TOTAL),
    _number("Swap total", "Size of all swap areas.", "bytes", _SWAP),
    _number("Root file system size", "Total size.", "bytes", f"node_filesystem_size_bytes{{{_ROOT}}}"),
)

DASHBOARD = Dashboard(
    "node",
    "Node detail",
    "All host metrics of one node: CPU, memory, disks, network, kernel.",
    (
        Section("Now", _NOW),
        Section("CPU", (_host.CPU, *CPUS, _host.PRESSURE, *_host_detail.CPUS)),
        Section("Memory", (_host.MEMORY, *MEMORY, *_host_detail.MEMORY)),
        Section("Disks", (_host.DISK_IO, *DISKS, *_host_detail.DISKS)),
        Section("File systems", (_host.SPACE, *FILES, *_host_detail.FILES)),
        Section("Network", (_host.NETWORK, *NETWORK, *_host_detail.NETWORK, _host.INFINIBAND)),
        Section("Sockets and protocols", (*SOCKETS, *_host_detail.SOCKETS)),
        Section("Processes", (*PROCESSES, *_host_detail.PROCESSES)),
        Section("Clock", (*CLOCK, *_host_detail.CLOCK)),
        Section("Hardware", (_host.TEMPERATURES, _host.POWER, *HARDWARE, *_host_detail.HARDWARE)),
        Section("Kernel and agent", (*KERNEL, *_host_detail.KERNEL)),
    ),
    (A_NODE,),
)
