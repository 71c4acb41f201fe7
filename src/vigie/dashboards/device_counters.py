"""Device counters: GPU by GPU, of every vendor."""

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
    return build_panel(
        title, why, "count", f"DCGM_FI_DEV_ECC_{name}_TOTAL{{{ON_GPU}}}", NAME, needs=_HEALTH, floor=0
    )


LOAD = (
    _gpu(
        "GPU busy",
        "Share of time in which any kernel ran: high is needed for useful work and not enough for it.",
        "ratio",
        "vigie_gpu_busy_ratio",
        floor=0,
        ceiling=1,
    ),
    _gpu(
        "Memory busy",
        "Share of time in which memory was read or written: high here with little else is memory-bound.",
        "ratio",
        "vigie_gpu_memory_busy_ratio",
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Memory in use",
        "A climb that never falls ends in an out-of-memory error.",
        "ratio",
        f"vigie_gpu_memory_used_bytes{{{ON_GPU}}} / vigie_gpu_memory_total_bytes{{{ON_GPU}}}",
        NAME,
        kind="band",
        needs=NEEDS,
        floor=0,
        ceiling=1,
    ),
    _gpu(
        "Processes",
        "More than one process on a GPU means that it is shared, or that an old one was left behind.",
        "count",
        "vigie_gpu_processes",
        "the nvidia_processes source",
        floor=0,
    ),
)
CLOCKS = (
    _gpu(
        "GPU clock",
        "GPUs of one kind under one load run alike: the slower one is held back.",
        "hertz",
        "vigie_gpu_clock_hertz",
        floor=0,
    ),
    _gpu("Memory clock", "It is fixed while a GPU works.", "hertz", "vigie_gpu_memory_clock_hertz", floor=0),
    build_panel(
        "Held back, by reason",
        "How many GPUs each reason slows: power at full load is usual, heat and hardware are not.",
        "count",
        f"sum by (reason) (vigie_gpu_throttled{{{ON_GPU}}})",
        "{{reason}}",
        stack=True,
        floor=0,
        needs=NEEDS,
    ),
    build_panel(
        "Held back by heat",
        "Share of time lost to heat: anything above nothing is for whoever looks after cooling.",
        "ratio",
        f"{rate('DCGM_FI_DEV_THERMAL_VIOLATION', ON_GPU)} / 1e9",
        NAME,
        kind="band",
        needs="the nvidia source",
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Held back by power",
        "Share of time at the power limit: usual at full load, odd on one GPU alone.",
        "ratio",
        f"{rate('DCGM_FI_DEV_POWER_VIOLATION', ON_GPU)} / 1e9",
        NAME,
        kind="band",
        needs="the nvidia source",
        floor=0,
        ceiling=1,
    ),
)
HEAT = (
    _gpu(
        "GPU temperature",
        "One far above its siblings is badly cooled, and slows down beyond its limit.",
        "celsius",
        "vigie_gpu_temperature_celsius",
        thresholds=_HOT,
    ),
    build_panel(
        "GPU temperature, GPU by GPU",
        "A row stronger than its neighbours is badly cooled, a strong column a hot room.",
        "celsius",
        f"vigie_gpu_temperature_celsius{{{ON_GPU}}}",
        NAME,
        kind="heat",
        wide=True,
        thresholds=_HOT,
        floor=20,  # no room is colder, and shades from 0 on would hardly differ
        needs=NEEDS,
    ),
    _gpu(
        "Memory temperature",
        "Stacked memory runs hotter than the GPU; beyond 95 °C it slows down.",
        "celsius",
        "vigie_gpu_memory_temperature_celsius",
        thresholds=(Threshold(95, "warning"), Threshold(105, "critical")),
    ),
    _gpu(
        "Power",
        "Power follows work: idle power on a held GPU is a GPU that waits.",
        "watts",
        "vigie_gpu_power_watts",
        floor=0,
    ),
    build_panel(
        "Power of the limit",
        "At 100% the GPU is at its limit and lowers its clock.",
        "ratio",
        f"vigie_gpu_power_watts{{{ON_GPU}}} / vigie_gpu_power_limit_watts{{{ON_GPU}}}",
        NAME,
        kind="band",
        needs=NEEDS,
        floor=0,
    ),
    build_panel(
        "Energy since the driver was loaded",
        "What each GPU has used in all; a fall to nothing is a reload of the driver.",
        "joules",
        f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{ON_GPU}}} / 1e3",
        NAME,
        kind="band",
        needs="the nvidia source",
        floor=0,
    ),
    _gpu(
        "Fan",
        "A fan at full speed on a cool GPU, or at rest on a hot one, is broken.",
        "ratio",
        "vigie_gpu_fan_ratio",
        floor=0,
        ceiling=1,
    ),
)
ERRORS = (
    build_panel(
        "Last XID",
        "What NVIDIA's driver complained of last, by number: Events says what it means and what to do.",
        "count",
        f"DCGM_FI_DEV_XID_ERRORS{{{ON_GPU}}} > 0",
        NAME,
        kind="table",
        thresholds=ANY,
        needs="the nvidia source; empty is good",
    ),
    _ecc(
        "Corrected memory errors since boot",
        "A few are harmless; hundreds tell of memory that will fail.",
        "SBE_VOL",
    ),
    _ecc("Uncorrected memory errors since boot", "Each one has killed or spoilt what ran there.", "DBE_VOL"),
    _ecc(
        "Corrected memory errors, ever", "The whole life of the board: compare with its siblings.", "SBE_AGG"
    ),
    _ecc("Uncorrected memory errors, ever", "A board that collects them is one to give back.", "DBE_AGG"),
    build_multi_panel(
        "Rows of memory replaced",
        "Rows that failed and were replaced; pending ones wait for a reset of the GPU.",
        "count",
        {
            f"after an uncorrected error {NAME}": f"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{{{ON_GPU}}}",
            f"after corrected ones {NAME}": f"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS{{{ON_GPU}}}",
        },
        needs=_HEALTH,
        floor=0,
    ),
    build_panel(
        "Row waits for a reset",
        "Yes until the GPU is reset: drain it when its job ends.",
        "bool",
        f"DCGM_FI_DEV_ROW_REMAP_PENDING{{{ON_GPU}}} > 0",
        NAME,
        kind="table",
        thresholds=ANY,
        needs=f"{_HEALTH}; empty is good",
    ),
    build_panel(
        "Row could not be replaced",
        "Yes means that the spare rows are used up: the board has to be replaced.",
        "bool",
        f"DCGM_FI_DEV_ROW_REMAP_FAILURE{{{ON_GPU}}}",
        NAME,
        kind="band",
        thresholds=ANY_BAD,
        needs=_HEALTH,
        floor=0,
    ),
    build_panel(
        "Errors found by AMD's hardware",
        "By part of the chip: uncorrectable ones spoil what runs there.",
        "count",
        f"sum by (instance, gpu, kind) (vigie_amdgpu_ras_errors_total{{{ON_GPU}}})",
        f"{NAME} {{{{kind}}}}",
        needs="the amdgpu source (a card with RAS)",
        floor=0,
    ),
)
LINKS = (
    build_panel(
        "PCIe width of its maximum",
        "Below 100% the card runs on fewer lanes than it could: reseat it or look at the riser.",
        "ratio",
        f"vigie_gpu_pcie_width{{{ON_GPU}}} / vigie_gpu_pcie_width_max{{{ON_GPU}}}",
        NAME,
        kind="band",
        thresholds=(Threshold(0.5, "warning", below=True),),
        needs=NEEDS,
        floor=0,
        ceiling=1,
    ),
    build_multi_panel(
        "PCIe generation",
        "It falls when a GPU is idle; under load it should be at its maximum.",
        "count",
        {
            f"now {NAME}": f"vigie_gpu_pcie_generation{{{ON_GPU}}}",
            f"at most {NAME}": f"vigie_gpu_pcie_generation_max{{{ON_GPU}}}",
        },
        kind="band",
        needs=NEEDS,
        floor=0,
    ),
    build_panel(
        "PCIe packets sent again",
        "A steady trickle is a bad contact.",
        "ops/s",
        f"rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{ON_GPU}}}{WINDOW})",
        NAME,
        kind="band",
        needs="the nvidia_health source",
        floor=0,
    ),
    build_panel(
        "NVLinks down",
        "Any link down slows all GPUs of the node that talk to each other.",
        "count",
        f"sum by (instance, gpu) (vigie_gpu_nvlink_up{{{ON_GPU}}} == bool 0)",
        NAME,
        kind="band",
        thresholds=ANY,
        needs="the nvidia_nvlink source",
        floor=0,
    ),
)

DASHBOARD = Dashboard(
    "device-counters",
    "Device counters",
    "GPU by GPU: load, clocks, heat, power, errors and links, for every vendor.",
    (
        Section("Load and memory", LOAD),
        Section("Clocks and what holds them back", CLOCKS),
        Section("Heat and power", HEAT),
        Section("Errors", ERRORS),
        Section("Links", LINKS),
    ),
    (_NODES, GPUS),
)
