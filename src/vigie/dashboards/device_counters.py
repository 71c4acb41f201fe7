"""Device counters of GPUs of every vendor."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import ANY, ANY_BAD, WINDOW, build_multi_panel, build_panel, rate
from vigie.dashboards._choices import GPUS, NAME, ON_GPU
from vigie.model.dashboard import Dashboard, Panel, Section, Threshold, Variable

NEEDS = "the nvidia or amdgpu source"
_HEALTH = "the nvidia_health source (a GPU with ECC)"
_NODES = Variable("node", "Nodes", metric="vigie_gpu_info", by="instance", multi=True)
_HOT = (Threshold(83, "warning"), Threshold(90, "critical"))


def _gpu(title: str, why: str, unit: str, metric: str, needs: str = NEEDS, **rest: Any) -> Panel:
    return build_panel(title, why, unit, f"{metric}{{{ON_GPU}}}", NAME, kind="band", needs=needs, **rest)


def _ecc(title: str, why: str, name: str) -> Panel:
    return build_panel(title, why, "count", f"DCGM_FI_DEV_ECC_{name}_TOTAL{{{ON_GPU}}}", NAME, needs=_HEALTH)


LOAD = (
    _gpu(
        "GPU busy",
        "Share of time with a running kernel. Necessary for useful work, not sufficient.",
        "ratio",
        "vigie_gpu_busy_ratio",
        ceiling=1,
    ),
    _gpu(
        "Memory busy",
        "Share of time with memory access. High with low SM activity: memory-bound.",
        "ratio",
        "vigie_gpu_memory_busy_ratio",
        ceiling=1,
    ),
    build_panel(
        "GPU memory used",
        "Steady growth ends in an out-of-memory error.",
        "ratio",
        f"vigie_gpu_memory_used_bytes{{{ON_GPU}}} / vigie_gpu_memory_total_bytes{{{ON_GPU}}}",
        NAME,
        kind="band",
        needs=NEEDS,
        ceiling=1,
    ),
    _gpu(
        "Processes",
        "More than one process: the GPU is shared, or has a leftover process.",
        "count",
        "vigie_gpu_processes",
        "the nvidia_processes source",
    ),
)
CLOCKS = (
    _gpu(
        "GPU clock",
        "Equal GPUs under equal load run alike. A slower one is throttled.",
        "hertz",
        "vigie_gpu_clock_hertz",
    ),
    _gpu("Memory clock", "Constant while a GPU is working.", "hertz", "vigie_gpu_memory_clock_hertz"),
    build_panel(
        "Throttled by reason",
        "GPUs throttled by each reason. Power is normal at full load, temperature and hardware are not.",
        "count",
        f"sum by (reason) (vigie_gpu_throttled{{{ON_GPU}}})",
        "{{reason}}",
        stack=True,
        needs=NEEDS,
    ),
    build_panel(
        "Thermal throttling",
        "Share of time. Above 0 is a cooling problem.",
        "ratio",
        f"{rate('DCGM_FI_DEV_THERMAL_VIOLATION', ON_GPU)} / 1e9",
        NAME,
        kind="band",
        needs="the nvidia source",
        ceiling=1,
    ),
    build_panel(
        "Power throttling",
        "Share of time. Normal at full load, an outlier is not.",
        "ratio",
        f"{rate('DCGM_FI_DEV_POWER_VIOLATION', ON_GPU)} / 1e9",
        NAME,
        kind="band",
        needs="the nvidia source",
        ceiling=1,
    ),
)
HEAT = (
    _gpu(
        "GPU temperature",
        "One far above its peers has a cooling problem and will throttle.",
        "celsius",
        "vigie_gpu_temperature_celsius",
        thresholds=_HOT,
        floor=None,
    ),
    build_panel(
        "GPU temperature by GPU",
        "A strong row: bad cooling. A strong column: a hot room.",
        "celsius",
        f"vigie_gpu_temperature_celsius{{{ON_GPU}}}",
        NAME,
        kind="heat",
        wide=True,
        thresholds=_HOT,
        floor=20,  # rooms are not colder, and shades from 0 would hardly differ
        needs=NEEDS,
    ),
    _gpu(
        "Memory temperature",
        "Memory runs hotter than the GPU. Above 95 °C it is throttled.",
        "celsius",
        "vigie_gpu_memory_temperature_celsius",
        thresholds=(Threshold(95, "warning"), Threshold(105, "critical")),
        floor=None,
    ),
    _gpu(
        "Power",
        "Power follows work. Idle power on an allocated GPU: it is waiting.",
        "watts",
        "vigie_gpu_power_watts",
    ),
    build_panel(
        "Power vs limit",
        "At 100% the GPU lowers its clock.",
        "ratio",
        f"vigie_gpu_power_watts{{{ON_GPU}}} / vigie_gpu_power_limit_watts{{{ON_GPU}}}",
        NAME,
        kind="band",
        needs=NEEDS,
    ),
    build_panel(
        "Energy since driver load",
        "Total per GPU. A drop to 0 is a driver reload.",
        "joules",
        f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{ON_GPU}}} / 1e3",
        NAME,
        kind="band",
        needs="the nvidia source",
    ),
    _gpu(
        "Fan",
        "Full speed on a cool GPU, or 0 on a hot one: broken.",
        "ratio",
        "vigie_gpu_fan_ratio",
        ceiling=1,
    ),
)
ERRORS = (
    build_panel(
        "Last XID",
        "Number of the last XID. Events has its meaning and the action.",
        "count",
        f"DCGM_FI_DEV_XID_ERRORS{{{ON_GPU}}} > 0",
        NAME,
        kind="table",
        thresholds=ANY,
        needs="the nvidia source; empty is good",
    ),
    _ecc(
        "Corrected memory errors since driver load",
        "A few are harmless. Hundreds precede a failure.",
        "SBE_VOL",
    ),
    _ecc(
        "Uncorrectable memory errors since driver load",
        "Each one ended or corrupted what was running.",
        "DBE_VOL",
    ),
    _ecc(
        "Corrected memory errors, lifetime", "Over the board's lifetime. Compare with its peers.", "SBE_AGG"
    ),
    _ecc(
        "Uncorrectable memory errors, lifetime", "A growing count is a reason to return the board.", "DBE_AGG"
    ),
    build_multi_panel(
        "Remapped rows",
        "Faulty rows that were remapped. Pending ones need a GPU reset.",
        "count",
        {
            f"uncorrectable {NAME}": f"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{{{ON_GPU}}}",
            f"corrected {NAME}": f"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS{{{ON_GPU}}}",
        },
        needs=_HEALTH,
    ),
    build_panel(
        "Row remap pending",
        "Yes until the GPU is reset. Drain it after its job ends.",
        "bool",
        f"DCGM_FI_DEV_ROW_REMAP_PENDING{{{ON_GPU}}} > 0",
        NAME,
        kind="table",
        thresholds=ANY,
        needs=f"{_HEALTH}; empty is good",
    ),
    build_panel(
        "Row remap failed",
        "Yes: no spare rows are left. Replace the GPU.",
        "bool",
        f"DCGM_FI_DEV_ROW_REMAP_FAILURE{{{ON_GPU}}}",
        NAME,
        kind="band",
        thresholds=ANY_BAD,
        needs=_HEALTH,
    ),
    build_panel(
        "AMD RAS errors",
        "By kind. Uncorrectable ones corrupt what is running.",
        "count",
        f"sum by (instance, gpu, kind) (vigie_amdgpu_ras_errors_total{{{ON_GPU}}})",
        f"{NAME} {{{{kind}}}}",
        needs="the amdgpu source (a card with RAS)",
    ),
)
LINKS = (
    build_panel(
        "PCIe width vs maximum",
        "Below 100% the card has fewer lanes than it supports: reseat it or check the riser.",
        "ratio",
        f"vigie_gpu_pcie_width{{{ON_GPU}}} / vigie_gpu_pcie_width_max{{{ON_GPU}}}",
        NAME,
        kind="band",
        thresholds=(Threshold(0.5, "warning", below=True),),
        needs=NEEDS,
        ceiling=1,
    ),
    build_multi_panel(
        "PCIe generation",
        "Drops on idle GPUs. At its maximum under load.",
        "count",
        {
            f"current {NAME}": f"vigie_gpu_pcie_generation{{{ON_GPU}}}",
            f"maximum {NAME}": f"vigie_gpu_pcie_generation_max{{{ON_GPU}}}",
        },
        kind="band",
        needs=NEEDS,
    ),
    build_panel(
        "PCIe replays",
        "A steady rate is a bad contact.",
        "ops/s",
        f"rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{ON_GPU}}}{WINDOW})",
        NAME,
        kind="band",
        needs="the nvidia_health source",
    ),
    build_panel(
        "NVLinks down",
        "A down link slows all GPUs of the node that communicate.",
        "count",
        f"sum by (instance, gpu) (vigie_gpu_nvlink_up{{{ON_GPU}}} == bool 0)",
        NAME,
        kind="band",
        thresholds=ANY,
        needs="the nvidia_nvlink source",
    ),
)

DASHBOARD = Dashboard(
    "device-counters",
    "Device counters",
    "Utilization, clocks, temperature, power, errors and links by GPU, for every vendor.",
    (
        Section("Utilization and memory", LOAD),
        Section("Clocks and throttling", CLOCKS),
        Section("Temperature and power", HEAT),
        Section("Errors", ERRORS),
        Section("Links", LINKS),
    ),
    (_NODES, GPUS),
)
