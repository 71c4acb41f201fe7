"""Cluster overview: all nodes compared."""

from __future__ import annotations

from vigie.dashboards._build import ANY, NOT_UP, RATIO_HIGH, build_panel, rate
from vigie.dashboards._choices import A_WIRE, HOW, NODES, ON_HOST, ON_NODE
from vigie.dashboards._holder_promql import build_allocation_panel
from vigie.model.dashboard import Dashboard, Panel, PanelQuery, Section

_GPU_NEEDS = "the nvidia or amdgpu source"
_IB_NEEDS = "the infiniband source"
_WIRES = f"{ON_HOST}, {A_WIRE}"
_ROOT = f'{ON_HOST}, mountpoint="/"'
_IDLE = rate("node_cpu_seconds_total", f'{ON_HOST}, mode="idle"')
_MEMORY = f"1 - node_memory_MemAvailable_bytes{{{ON_HOST}}} / node_memory_MemTotal_bytes{{{ON_HOST}}}"
_DISK = f"1 - node_filesystem_avail_bytes{{{_ROOT}}} / node_filesystem_size_bytes{{{_ROOT}}}"
_SWAP = (
    f"1 - node_memory_SwapFree_bytes{{{ON_HOST}}} / (node_memory_SwapTotal_bytes{{{ON_HOST}}} > 0)"
    f" or 0 * node_memory_SwapTotal_bytes{{{ON_HOST}}}"
)
_FULL = f"vigie_gpu_memory_used_bytes{{{ON_NODE}}} / vigie_gpu_memory_total_bytes{{{ON_NODE}}}"
_SENT = rate("node_infiniband_port_data_transmitted_bytes_total", ON_HOST)
_RECEIVED = rate("node_infiniband_port_data_received_bytes_total", ON_HOST)
_DOWN = f"node_infiniband_physical_state_id{{{ON_HOST}}} != bool 5"


def _each(
    title: str, why: str, unit: str, promql: str, needs: str = "", ceiling: float | None = None
) -> Panel:
    """Build a band over nodes."""
    return build_panel(title, why, unit, promql, "{{instance}}", kind="band", needs=needs, ceiling=ceiling)


def _across(title: str, why: str, unit: str, metric: str, ceiling: float | None = None) -> Panel:
    """Build a band over nodes of the minimum, mean or maximum of each node's GPUs."""
    return _each(title, why, unit, f"$how by (instance) ({metric}{{{ON_NODE}}})", _GPU_NEEDS, ceiling)


_NOW = (
    build_panel(
        "Nodes up",
        "Fewer than before: a node is unreachable.",
        "count",
        f'sum(up{{job="node", {ON_NODE}}})',
        kind="number",
    ),
    build_panel(
        "GPUs present",
        "Fewer than installed: a GPU is lost, or its node is unreachable.",
        "count",
        f"count(vigie_gpu_info{{{ON_NODE}}})",
        kind="number",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "Average GPU busy",
        "Overall utilization. Busy alone is not useful work.",
        "ratio",
        f"avg(vigie_gpu_busy_ratio{{{ON_NODE}}})",
        kind="number",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "GPU memory used",
        "High memory with low busy: unused.",
        "ratio",
        f"sum(vigie_gpu_memory_used_bytes{{{ON_NODE}}}) / sum(vigie_gpu_memory_total_bytes{{{ON_NODE}}})",
        kind="number",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "GPU power",
        "Power of all GPUs, which must be cooled.",
        "watts",
        f"sum(vigie_gpu_power_watts{{{ON_NODE}}})",
        kind="number",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "InfiniBand ports down",
        "A down port slows the jobs on its node.",
        "count",
        f"sum({_DOWN})",
        kind="number",
        thresholds=ANY,
        needs=_IB_NEEDS,
    ),
)

_TABLES = (
    Panel(
        "All nodes",
        "Sort by a column to find the fullest, hottest or idlest nodes.",
        (
            PanelQuery(
                f"max by (instance) (time() - node_boot_time_seconds{{{ON_HOST}}})", "uptime", "seconds"
            ),
            PanelQuery(f"1 - avg by (instance) ({_IDLE})", "CPU", "ratio"),
            PanelQuery(f"max by (instance) ({_MEMORY})", "memory", "ratio"),
            PanelQuery(
                f"max by (instance) (node_memory_MemTotal_bytes{{{ON_HOST}}})", "memory total", "bytes"
            ),
            PanelQuery(f"max by (instance) ({_SWAP})", "swap", "ratio"),
            PanelQuery(f"max by (instance) ({_DISK})", "disk at /", "ratio"),
            PanelQuery(f"count by (instance) (vigie_gpu_info{{{ON_NODE}}})", "GPUs", "count"),
            PanelQuery(f"avg by (instance) (vigie_gpu_busy_ratio{{{ON_NODE}}})", "GPUs busy", "ratio"),
            PanelQuery(f"avg by (instance) ({_FULL})", "GPU memory", "ratio"),
            PanelQuery(
                f"sum by (instance) (vigie_gpu_memory_total_bytes{{{ON_NODE}}})", "GPU memory total", "bytes"
            ),
            PanelQuery(f"sum by (instance) (vigie_gpu_power_watts{{{ON_NODE}}})", "GPU power", "watts"),
        ),
        kind="table",
        wide=True,
    ),
    build_panel(
        "GPUs by model",
        "A node with fewer GPUs than its peers has lost one.",
        "count",
        f"count by (instance, model) (vigie_gpu_info{{{ON_NODE}}})",
        "GPUs",
        kind="table",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "Last XID",
        "Number of the last XID. See Events for its meaning.",
        "count",
        f"DCGM_FI_DEV_XID_ERRORS{{{ON_NODE}}} > 0",
        "{{instance}}:{{gpu}}",
        kind="table",
        thresholds=ANY,
        needs="the nvidia source; empty is good",
    ),
)

_GPUS = (
    _across(
        "GPU busy",
        "A node below the band slows its job.",
        "ratio",
        "vigie_gpu_busy_ratio",
        1,
    ),
    build_panel(
        "GPU busy by node",
        "A row that fades while others stay strong stopped working at that time.",
        "ratio",
        f"$how by (instance) (vigie_gpu_busy_ratio{{{ON_NODE}}})",
        "{{instance}}",
        kind="heat",
        wide=True,
        needs=_GPU_NEEDS,
        ceiling=1,
    ),
    _across(
        "Memory busy",
        "Share of time with memory access. High with low SM activity: memory-bound.",
        "ratio",
        "vigie_gpu_memory_busy_ratio",
        1,
    ),
    _across(
        "SM activity",
        "Share of SMs with active warps.",
        "ratio",
        "DCGM_FI_PROF_SM_ACTIVE",
        1,
    ),
    _each(
        "GPU memory",
        "Near 100%: risk of running out.",
        "ratio",
        f"$how by (instance) ({_FULL})",
        _GPU_NEEDS,
        1,
    ),
    _across(
        "GPU clock",
        "A node below the rest is throttled or configured lower.",
        "hertz",
        "vigie_gpu_clock_hertz",
    ),
    _across("Memory clock", "Constant while GPUs are working.", "hertz", "vigie_gpu_memory_clock_hertz"),
    _across(
        "GPU temperature",
        "A node above the band has a cooling problem.",
        "celsius",
        "vigie_gpu_temperature_celsius",
    ),
    _across(
        "Memory temperature",
        "Memory heats up first. Above 95 °C it is throttled.",
        "celsius",
        "vigie_gpu_memory_temperature_celsius",
    ),
    _across("GPU power", "Power separates working nodes from idle ones.", "watts", "vigie_gpu_power_watts"),
    build_panel(
        "Throttled GPUs by reason",
        "Any reason but a power cap points at temperature or hardware.",
        "count",
        f"sum by (reason) (vigie_gpu_throttled{{{ON_NODE}}})",
        "{{reason}}",
        stack=True,
        needs=_GPU_NEEDS,
    ),
)

_HOSTS = (
    _each(
        "CPU busy",
        "A saturated node starves its GPUs of data.",
        "ratio",
        f"1 - avg by (instance) ({_IDLE})",
        ceiling=1,
    ),
    _each(
        "CPU clock",
        "A lower clock: temperature, or power saving.",
        "hertz",
        f"$how by (instance) (node_cpu_scaling_frequency_hertz{{{ON_HOST}}})",
        "the cpufreq source",
    ),
    _each("Memory used", "Steady growth of one node is a leak.", "ratio", _MEMORY, ceiling=1),
    _each(
        "Memory available",
        "Headroom before OOM kills.",
        "bytes",
        f"node_memory_MemAvailable_bytes{{{ON_HOST}}}",
    ),
    _each("Swap used", "Any swap use on a compute node is too much.", "ratio", _SWAP, ceiling=1),
    build_panel(
        "Disk used at /",
        "A full root file system stops logins and jobs.",
        "ratio",
        _DISK,
        "{{instance}}",
        kind="band",
        thresholds=RATIO_HIGH,
        ceiling=1,
    ),
)

_FABRIC = (
    _each(
        "InfiniBand sent by port",
        "Nodes of one job send alike. Minimum and maximum across ports find a silent one.",
        "bytes/s",
        f"$how by (instance) ({_SENT})",
        _IB_NEEDS,
    ),
    _each(
        "InfiniBand received by port",
        "As sent. A node that only sends has a faulty link.",
        "bytes/s",
        f"$how by (instance) ({_RECEIVED})",
        _IB_NEEDS,
    ),
    build_panel(
        "All InfiniBand links up",
        "No: at least one port of the node is down.",
        "bool",
        f"min by (instance) (node_infiniband_physical_state_id{{{ON_HOST}}} == bool 5)",
        "{{instance}}",
        thresholds=NOT_UP,
        ceiling=1,
        needs=_IB_NEEDS,
    ),
    build_panel(
        "Link-down events, 1h",
        "A flapping link has a bad cable or optic.",
        "count",
        f"increase(node_infiniband_link_downed_total{{{ON_HOST}}}[1h]) > 0",
        "{{instance}} {{device}}:{{port}}",
        kind="table",
        thresholds=ANY,
        needs=f"{_IB_NEEDS}; empty is good",
    ),
    _each(
        "Ethernet in",
        "File servers and downloads.",
        "bytes/s",
        f"sum by (instance) ({rate('node_network_receive_bytes_total', _WIRES)})",
    ),
    _each(
        "Ethernet out",
        "A node far above the rest serves files, or misbehaves.",
        "bytes/s",
        f"sum by (instance) ({rate('node_network_transmit_bytes_total', _WIRES)})",
    ),
)

DASHBOARD = Dashboard(
    "cluster",
    "Cluster overview",
    "All nodes compared: up, full, hot, slow or silent.",
    (
        Section("Now", _NOW),
        Section("Nodes", _TABLES),
        Section("GPUs by node", (build_allocation_panel("all", 'vigie_holder_info{gpu!=""}'), *_GPUS)),
        Section("Hosts", _HOSTS),
        Section("Fabric and network", _FABRIC),
    ),
    (HOW, NODES),
)
