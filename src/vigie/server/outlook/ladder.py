"""The ladder of a job: of the GPUs that it holds, how many have a process, are busy, and compute.

At each step something is lost; over the job's life that adds up to GPU-hours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vigie.server.outlook.asking import Ask, Found, Span
from vigie.server.outlook.picture import Place
from vigie.server.outlook.selecting import nodes_matcher

HOUR_MS = 3_600_000
POINTS = 240
LEAST_STEP_MS = 60_000
LONGEST_MS = 7 * 24 * HOUR_MS
STEPS = {
    "held": ("held", ""),
    "process": ("with a process", "no source tells which processes are on these GPUs"),
    "busy": ("busy with kernels", "no source tells how busy these GPUs are"),
    "sm": ("multiprocessors active", "these GPUs have no profiling counters, or nobody reads them"),
    "tensor": ("tensor cores active", "these GPUs have no profiling counters, or nobody reads them"),
}
METRICS = {
    "process": "clamp_max(vigie_gpu_processes{%s}, 1)",
    "busy": "vigie_gpu_busy_ratio{%s}",
    "sm": "DCGM_FI_PROF_SM_ACTIVE{%s}",
    "tensor": "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{%s}",
}


def span_of(start_ms: int, end_ms: int) -> Span:
    """Return the moments of a job's life at which it is looked at."""
    start = max(start_ms, end_ms - LONGEST_MS)
    step = max(LEAST_STEP_MS, (end_ms - start) // POINTS)
    return Span(end_ms - (end_ms - start) // step * step, end_ms, step)


def ladder_asks(nodes: Sequence[str]) -> dict[str, Ask]:
    """Return what has to be asked at each of these moments."""
    where = nodes_matcher(nodes)
    return {name: Ask(query % where) for name, query in METRICS.items()}


def ladder(
    now: dict[str, float | None], places: Sequence[Place], found: Found, step_ms: int
) -> list[dict[str, Any]]:
    """Return the steps, with what was lost between each and the one before it that is known."""
    spent = {name: hours(found, name, set(places), step_ms) for name in METRICS}
    known = [measured for measured, _ in spent.values() if measured]
    before: float | None = max(known, default=0.0) or None  # GPU-hours held while anything was measured
    rows = []
    for name, (label, why) in STEPS.items():
        lost = None
        if name != "held":
            measured, used = spent[name]
            if measured and before is not None:
                lost = round(max(min(before, measured) - used, 0.0), 2)
                before = used
        reason = why if now[name] is None else ""
        rows.append({"step": label, "key": name, "gpus": now[name], "lost_gpu_hours": lost, "reason": reason})
    return rows


def hours(found: Found, name: str, places: set[Place], step_ms: int) -> tuple[float, float]:
    """Return for how many GPU-hours something was measured, and how much of them it was."""
    measured = used = 0.0
    for row in found.rows.get(name, ()):
        if row.labels in places:
            measured += len(row.values)
            used += sum(min(max(value, 0.0), 1.0) for value in row.values)
    return measured * step_ms / HOUR_MS, used * step_ms / HOUR_MS
