"""Jobs: all running ones side by side."""

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
    """Return a measure of GPUs by the job that holds them."""
    once = f"max by (instance, gpu) ({series})"
    return f"{how} by (holder, user) ({once} * on (instance, gpu) group_right () {_JOBS})"


def _each(title: str, why: str, unit: str, promql: str, ceiling: float | None = None) -> Panel:
    return build_panel(title, why, unit, promql, _NAME, kind="band", needs=NEEDS, floor=0, ceiling=ceiling)


_SPREAD = f"{joined('max', 'vigie_gpu_power_watts')} - {joined('min', 'vigie_gpu_power_watts')}"
_NOW = (
    Panel(
        "Every running job",
        "Means of five minutes: the last rows by busy or SM hold GPUs and do little with them.",
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
        "GPUs held, by job",
        "Who has the most.",
        "count",
        f"count by (holder, user) ({_JOBS})",
        _NAME,
        stack=True,
        needs=NEEDS,
        floor=0,
    ),
)
_WORK = (
    _each(
        "Busy, by job",
        "The mean over a job's GPUs: a line near 0 is a job that holds and does nothing.",
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
        "SM active, by job",
        "Useful work: compare jobs of one kind.",
        "ratio",
        joined("avg", "DCGM_FI_PROF_SM_ACTIVE"),
        1,
    ),
    _each(
        "Tensor active, by job",
        "Near 0 the job does not use what the GPU is best at.",
        "ratio",
        joined("avg", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"),
        1,
    ),
    _each(
        "GPU memory, by job",
        "A climb that never falls is a leak.",
        "bytes",
        joined("sum", "vigie_gpu_memory_used_bytes"),
    ),
    _each("Power, by job", "What a job costs.", "watts", joined("sum", "vigie_gpu_power_watts")),
    _each(
        "Spread of power within a job",
        "Wide means that its ranks do not do the same: by design, or one of them is ill.",
        "watts",
        _SPREAD,
    ),
    _each(
        "Lowest clock, by job",
        "One GPU that is held back slows all ranks.",
        "hertz",
        joined("min", "vigie_gpu_clock_hertz"),
    ),
    _each(
        "Highest temperature, by job",
        "The hottest GPU of a job is the next to be held back.",
        "celsius",
        joined("max", "vigie_gpu_temperature_celsius"),
    ),
)

DASHBOARD = Dashboard(
    "jobs",
    "Jobs",
    "All running jobs side by side: what they hold, and what they do with it.",
    (Section("Now", _NOW), Section("Work", _WORK)),
    _VARIABLES,
)
