"""GPU node detail: the GPUs of one node compared, and their host."""

from __future__ import annotations

from typing import Any

from vigie.dashboards import _host
from vigie.dashboards._build import build_multi_panel, build_panel
from vigie.dashboards._choices import A_GPU_NODE, GPUS, HOW, ON_GPU, ON_NODE
from vigie.model.dashboard import Dashboard, Panel, Section, Threshold

_NEEDS = "the nvidia or amdgpu source"
_PROFILED = "the nvidia_profiling source (Hopper or newer)"
_GPU = "GPU {{gpu}}"
_NO_ROOM = (Threshold(0.99, "warning"),)  # many programs allocate nearly all at once


def _number(title: str, why: str, unit: str, promql: str, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", needs=_NEEDS, **rest)


def _each(
    title: str, why: str, unit: str, metric: str, needs: str = _NEEDS, ceiling: float | None = None
) -> Panel:
    """Build one line per GPU, and the aggregate selected by the variable."""
    series = f"{metric}{{{ON_GPU}}}"
    lines = {_GPU: series, "across GPUs": f"$how({series})"}
    return build_multi_panel(title, why, unit, lines, needs=needs, ceiling=ceiling)


_NOW = (
    _number(
        "GPUs",
        "Fewer than installed: a GPU is lost.",
        "count",
        f"count(vigie_gpu_info{{{ON_NODE}}})",
    ),
    _number("GPU busy", "Aggregate selected above.", "ratio", f"$how(vigie_gpu_busy_ratio{{{ON_GPU}}})"),
    _number(
        "GPU memory used",
        "Near 100% a larger batch will not fit.",
        "ratio",
        f"sum(vigie_gpu_memory_used_bytes{{{ON_GPU}}}) / sum(vigie_gpu_memory_total_bytes{{{ON_GPU}}})",
        thresholds=_NO_ROOM,
    ),
    _number(
        "GPU memory total",
        "Of all GPUs.",
        "bytes",
        f"sum(vigie_gpu_memory_total_bytes{{{ON_GPU}}})",
    ),
    _number("GPU power", "Of all GPUs.", "watts", f"sum(vigie_gpu_power_watts{{{ON_GPU}}})"),
    _number(
        "GPU temperature",
        "Aggregate selected above.",
        "celsius",
        f"$how(vigie_gpu_temperature_celsius{{{ON_GPU}}})",
    ),
)
_WORK = (
    _each(
        "GPU busy",
        "GPUs of one job are equally busy. Look for outliers.",
        "ratio",
        "vigie_gpu_busy_ratio",
        ceiling=1,
    ),
    _each("SM active", "Useful work: above 80% is good.", "ratio", "DCGM_FI_PROF_SM_ACTIVE", _PROFILED, 1),
    _each(
        "Tensor active",
        "Should dominate in training.",
        "ratio",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        _PROFILED,
        1,
    ),
    _each("GPU memory", "Steady growth is a leak.", "bytes", "vigie_gpu_memory_used_bytes"),
    build_panel(
        "GPU memory used",
        "Share of each GPU's memory.",
        "ratio",
        f"vigie_gpu_memory_used_bytes{{{ON_GPU}}} / vigie_gpu_memory_total_bytes{{{ON_GPU}}}",
        _GPU,
        thresholds=_NO_ROOM,
        needs=_NEEDS,
        ceiling=1,
    ),
    build_panel(
        "Memory by process",
        "A process that should have ended is a leftover.",
        "bytes",
        f"vigie_gpu_process_memory_bytes{{{ON_GPU}}}",
        "GPU {{gpu}}, process {{pid}}",
        needs="the nvidia_processes source",
    ),
)
_BODY = (
    _each("Power", "Power separates working GPUs from idle ones.", "watts", "vigie_gpu_power_watts"),
    _each(
        "GPU temperature",
        "An outlier has a cooling problem.",
        "celsius",
        "vigie_gpu_temperature_celsius",
    ),
    _each(
        "Memory temperature",
        "Above 95 °C memory is throttled.",
        "celsius",
        "vigie_gpu_memory_temperature_celsius",
    ),
    _each(
        "GPU clock",
        "The lowest clock limits a job over all GPUs.",
        "hertz",
        "vigie_gpu_clock_hertz",
    ),
    _each("Memory clock", "Constant while a GPU is working.", "hertz", "vigie_gpu_memory_clock_hertz"),
    build_panel(
        "Throttled by reason",
        "Yes while the reason lasts. Temperature and hardware need the operator.",
        "bool",
        f"vigie_gpu_throttled{{{ON_GPU}}} > 0",
        "GPU {{gpu}}: {{reason}}",
        needs=f"{_NEEDS}; empty is good",
        ceiling=1,
    ),
    _each(
        "NVLink sent",
        "In waves with the steps of the job, equal on all GPUs.",
        "bytes/s",
        "DCGM_FI_PROF_NVLINK_TX_BYTES",
        _PROFILED,
    ),
    _each(
        "PCIe received",
        "Data from the host.",
        "bytes/s",
        "DCGM_FI_PROF_PCIE_RX_BYTES",
        _PROFILED,
    ),
)

DASHBOARD = Dashboard(
    "gpu-node",
    "GPU node detail",
    "The GPUs of one node compared, and their host.",
    (
        Section("Now", _NOW),
        Section("Work", _WORK),
        Section("Power, temperature, clocks and links", _BODY),
        Section(
            "Host", (_host.CPU, _host.MEMORY, _host.PRESSURE, _host.DISK_IO, _host.NETWORK, _host.INFINIBAND)
        ),
    ),
    (A_GPU_NODE, GPUS, HOW),
)
