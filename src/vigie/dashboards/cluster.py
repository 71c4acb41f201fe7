"""Cluster overview: every node beside every other."""

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
    """Return a band over nodes."""
    return build_panel(
        title, why, unit, promql, "{{instance}}", kind="band", needs=needs, floor=0, ceiling=ceiling
    )


def _across(title: str, why: str, unit: str, metric: str, ceiling: float | None = None) -> Panel:
    """Return a band over nodes of the least, mean or most of each node's GPUs."""
    return _each(title, why, unit, f"$how by (instance) ({metric}{{{ON_NODE}}})", _GPU_NEEDS, ceiling)


_NOW = (
    build_panel(
        "Nodes up",
        "Fewer than yesterday means one is lost.",
        "count",
        f'sum(up{{job="node", {ON_NODE}}})',
        kind="number",
    ),
    build_panel(
        "GPUs present",
        "Fewer than were bought means one fell off the bus or its node is gone.",
        "count",
        f"count(vigie_gpu_info{{{ON_NODE}}})",
        kind="number",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "GPUs busy on average",
        "The cluster's worth in one number, though busy is not yet useful.",
        "ratio",
        f"avg(vigie_gpu_busy_ratio{{{ON_NODE}}})",
        kind="number",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "GPU memory in use",
        "Memory in use with little busy is held in vain.",
        "ratio",
        f"sum(vigie_gpu_memory_used_bytes{{{ON_NODE}}}) / sum(vigie_gpu_memory_total_bytes{{{ON_NODE}}})",
        kind="number",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "GPU power",
        "What all GPUs draw: the power that must be cooled.",
        "watts",
        f"sum(vigie_gpu_power_watts{{{ON_NODE}}})",
        kind="number",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "InfiniBand ports down",
        "Any port that is down slows the jobs on its node.",
        "count",
        f"sum({_DOWN})",
        kind="number",
        thresholds=ANY,
        needs=_IB_NEEDS,
    ),
)

_TABLES = (
    Panel(
        "Every node",
        "Sort by a column: the first rows are the fullest, hottest or emptiest machines.",
        (
            PanelQuery(
                f"max by (instance) (time() - node_boot_time_seconds{{{ON_HOST}}})", "up for", "seconds"
            ),
            PanelQuery(f"1 - avg by (instance) ({_IDLE})", "CPU", "ratio"),
            PanelQuery(f"max by (instance) ({_MEMORY})", "memory", "ratio"),
            PanelQuery(
                f"max by (instance) (node_memory_MemTotal_bytes{{{ON_HOST}}})", "memory, total", "bytes"
            ),
            PanelQuery(f"max by (instance) ({_SWAP})", "swap", "ratio"),
            PanelQuery(f"max by (instance) ({_DISK})", "disk at /", "ratio"),
            PanelQuery(f"count by (instance) (vigie_gpu_info{{{ON_NODE}}})", "GPUs", "count"),
            PanelQuery(f"avg by (instance) (vigie_gpu_busy_ratio{{{ON_NODE}}})", "GPUs busy", "ratio"),
            PanelQuery(f"avg by (instance) ({_FULL})", "GPU memory", "ratio"),
            PanelQuery(
                f"sum by (instance) (vigie_gpu_memory_total_bytes{{{ON_NODE}}})", "GPU memory, total", "bytes"
            ),
            PanelQuery(f"sum by (instance) (vigie_gpu_power_watts{{{ON_NODE}}})", "GPU power", "watts"),
        ),
        kind="table",
        wide=True,
    ),
    build_panel(
        "Which GPUs",
        "A node with fewer GPUs of its model than its siblings has lost one.",
        "count",
        f"count by (instance, model) (vigie_gpu_info{{{ON_NODE}}})",
        "GPUs",
        kind="table",
        needs=_GPU_NEEDS,
    ),
    build_panel(
        "Last XID",
        "The number of the last error that NVIDIA's driver told: see Events for its meaning.",
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
        "A node below the band while its job runs holds the others up.",
        "ratio",
        "vigie_gpu_busy_ratio",
        1,
    ),
    build_panel(
        "GPU busy, node by node",
        "A row that fades while its neighbours stay strong stopped working at that moment.",
        "ratio",
        f"$how by (instance) (vigie_gpu_busy_ratio{{{ON_NODE}}})",
        "{{instance}}",
        kind="heat",
        wide=True,
        needs=_GPU_NEEDS,
        floor=0,
        ceiling=1,
    ),
    _across(
        "Memory busy",
        "How much of the time memory is read or written: high with low SM is memory-bound.",
        "ratio",
        "vigie_gpu_memory_busy_ratio",
        1,
    ),
    _across(
        "SM activity",
        "The honest measure of work: share of the multiprocessors in use.",
        "ratio",
        "DCGM_FI_PROF_SM_ACTIVE",
        1,
    ),
    _each(
        "GPU memory",
        "Bands near 100% are at risk of running out.",
        "ratio",
        f"$how by (instance) ({_FULL})",
        _GPU_NEEDS,
        1,
    ),
    _across(
        "GPU clock",
        "One node lower than the rest is held back by power, heat or a setting.",
        "hertz",
        "vigie_gpu_clock_hertz",
    ),
    _across("Memory clock", "It should not move while GPUs work.", "hertz", "vigie_gpu_memory_clock_hertz"),
    _across(
        "GPU temperature",
        "A node above the band has a cooling problem.",
        "celsius",
        "vigie_gpu_temperature_celsius",
    ),
    _across(
        "Memory temperature",
        "Memory gets hot before the GPU does; beyond 95 °C it slows down.",
        "celsius",
        "vigie_gpu_memory_temperature_celsius",
    ),
    _across("GPU power", "Power tells working nodes from waiting ones.", "watts", "vigie_gpu_power_watts"),
    build_panel(
        "GPUs held back, by reason",
        "Any but a power cap points at heat or hardware.",
        "count",
        f"sum by (reason) (vigie_gpu_throttled{{{ON_NODE}}})",
        "{{reason}}",
        stack=True,
        floor=0,
        needs=_GPU_NEEDS,
    ),
)

_HOSTS = (
    _each(
        "CPU busy",
        "A node that is full starves its GPUs of data.",
        "ratio",
        f"1 - avg by (instance) ({_IDLE})",
        ceiling=1,
    ),
    _each(
        "CPU clock",
        "A node with a lower clock is hot or set to save power.",
        "hertz",
        f"$how by (instance) (node_cpu_scaling_frequency_hertz{{{ON_HOST}}})",
        "the cpufreq source",
    ),
    _each("Memory used", "A line that climbs alone is a leak.", "ratio", _MEMORY, ceiling=1),
    _each(
        "Memory available",
        "What jobs can still take before the kernel kills.",
        "bytes",
        f"node_memory_MemAvailable_bytes{{{ON_HOST}}}",
    ),
    _each("Swap used", "Any swapping on a node that computes is too much.", "ratio", _SWAP, ceiling=1),
    build_panel(
        "Disk used at /",
        "A full root stops logins and jobs.",
        "ratio",
        _DISK,
        "{{instance}}",
        kind="band",
        thresholds=RATIO_HIGH,
        floor=0,
        ceiling=1,
    ),
)

_FABRIC = (
    _each(
        "InfiniBand sent, by port",
        "Nodes of one job send alike; min and max across ports find the silent one.",
        "bytes/s",
        f"$how by (instance) ({_SENT})",
        _IB_NEEDS,
    ),
    _each(
        "InfiniBand received, by port",
        "As sent; a node that only sends has a link that loses.",
        "bytes/s",
        f"$how by (instance) ({_RECEIVED})",
        _IB_NEEDS,
    ),
    build_panel(
        "All InfiniBand links up",
        "No means that at least one port of the node is down.",
        "bool",
        f"min by (instance) (node_infiniband_physical_state_id{{{ON_HOST}}} == bool 5)",
        "{{instance}}",
        thresholds=NOT_UP,
        floor=0,
        ceiling=1,
        needs=_IB_NEEDS,
    ),
    build_panel(
        "Links that went down in the last hour",
        "A link that falls again and again has a bad cable or optic.",
        "count",
        f"increase(node_infiniband_link_downed_total{{{ON_HOST}}}[1h]) > 0",
        "{{instance}} {{device}}:{{port}}",
        kind="table",
        thresholds=ANY,
        needs=f"{_IB_NEEDS}; empty is good",
    ),
    _each(
        "Ethernet in",
        "File servers and downloads show here.",
        "bytes/s",
        f"sum by (instance) ({rate('node_network_receive_bytes_total', _WIRES)})",
    ),
    _each(
        "Ethernet out",
        "A node that sends far more than the rest serves or leaks.",
        "bytes/s",
        f"sum by (instance) ({rate('node_network_transmit_bytes_total', _WIRES)})",
    ),
)

DASHBOARD = Dashboard(
    "cluster",
    "Cluster overview",
    "Every node beside every other: what is up, full, hot, slow or silent.",
    (
        Section("Now", _NOW),
        Section("Nodes", _TABLES),
        Section("GPUs, by node", (build_allocation_panel("all", 'vigie_holder_info{gpu!=""}'), *_GPUS)),
        Section("Hosts", _HOSTS),
        Section("Fabric and network", _FABRIC),
    ),
    (HOW, NODES),
)
