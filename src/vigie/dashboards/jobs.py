"""Jobs: all running jobs compared."""

from __future__ import annotations

from vigie.dashboards._build import build_panel
from vigie.dashboards._holder_promql import NEEDS, WORKING, build_allocation_panel
from vigie.model.dashboard import Dashboard, Panel, PanelQuery, Section, Variable

_JOBS = 'vigie_holder_info{kind="job", holder=~"$job", user=~"$user", gpu!=""}'
_VARIABLES = (
    Variable("user", "Users", metric='vigie_holder_info{kind="job"}', by="user", multi=True, optional=True),
    Variable("job", "Jobs", metric='vigie_holder_info{kind="job", user=~"$user"}', by="holder", multi=True),
)
_NAME = "{{holder}} ({{user}})"


def joined(how: str, series: str) -> str:
    """Return a GPU metric by the job it is allocated to."""
    once = f"max by (instance, gpu) ({series})"
    return f"{how} by (holder, user) ({once} * on (instance, gpu) group_right () {_JOBS})"


def _each(title: str, why: str, unit: str, promql: str, ceiling: float | None = None) -> Panel:
    return build_panel(title, why, unit, promql, _NAME, kind="band", needs=NEEDS, ceiling=ceiling)


_SPREAD = f"{joined('max', 'vigie_gpu_power_watts')} - {joined('min', 'vigie_gpu_power_watts')}"
_NOW = (
    Panel(
        "Running jobs",
        "Means over 5m. Sort by busy or SM to find allocations that do little.",
        (
            PanelQuery(f"count by (holder, user) ({_JOBS})", "GPUs", "count"),
            PanelQuery(joined("sum", WORKING), "GPUs working", "count"),
            PanelQuery(joined("avg", "avg_over_time(vigie_gpu_busy_ratio[5m])"), "busy", "ratio"),
            PanelQuery(joined("avg", "avg_over_time(DCGM_FI_PROF_SM_ACTIVE[5m])"), "SM", "ratio"),
            PanelQuery(
                joined("avg", "avg_over_time(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE[5m])"), "tensor", "ratio"
            ),
            PanelQuery(joined("sum", "vigie_gpu_memory_used_bytes"), "GPU memory", "bytes"),
            PanelQuery(joined("sum", "vigie_gpu_power_watts"), "power", "watts"),
        ),
        kind="table",
        wide=True,
        needs=NEEDS,
    ),
    build_allocation_panel("by jobs", _JOBS),
    build_panel(
        "Allocated GPUs by job",
        "Largest allocations.",
        "count",
        f"count by (holder, user) ({_JOBS})",
        _NAME,
        stack=True,
        needs=NEEDS,
    ),
)
_WORK = (
    _each(
        "GPU busy by job",
        "Mean over a job's GPUs. Near 0: allocated but idle.",
        "ratio",
        joined("avg", "vigie_gpu_busy_ratio"),
        1,
    ),
    _each(
        "Slowest GPU of each job",
        "A job is as fast as its slowest rank.",
        "ratio",
        joined("min", "vigie_gpu_busy_ratio"),
        1,
    ),
    _each(
        "SM active by job",
        "Useful work. Compare jobs of one kind.",
        "ratio",
        joined("avg", "DCGM_FI_PROF_SM_ACTIVE"),
        1,
    ),
    _each(
        "Tensor active by job",
        "Near 0 the job does not use tensor cores.",
        "ratio",
        joined("avg", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"),
        1,
    ),
    _each(
        "GPU memory by job",
        "Steady growth is a leak.",
        "bytes",
        joined("sum", "vigie_gpu_memory_used_bytes"),
    ),
    _each("GPU power by job", "Power of each job.", "watts", joined("sum", "vigie_gpu_power_watts")),
    _each(
        "Power spread within a job",
        "Wide: its ranks differ, by design or because one has a problem.",
        "watts",
        _SPREAD,
    ),
    _each(
        "Lowest clock by job",
        "One throttled GPU slows all ranks.",
        "hertz",
        joined("min", "vigie_gpu_clock_hertz"),
    ),
    _each(
        "Highest temperature by job",
        "The hottest GPU throttles first.",
        "celsius",
        joined("max", "vigie_gpu_temperature_celsius"),
    ),
)

DASHBOARD = Dashboard(
    "jobs",
    "Jobs",
    "All running jobs compared: what is allocated, and how it is used.",
    (Section("Now", _NOW), Section("Work", _WORK)),
    _VARIABLES,
)
