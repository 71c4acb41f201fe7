"""The ladder of a job: of the GPUs that it holds, how many have a process, are busy, and compute.

At each step something is lost; over the job's life that adds up to GPU-hours.
"""

from __future__ import annotations

from collections.abc import Sequence

from vigie.server.pages.queries import nodes_matcher
from vigie.server.pages.query_batch import BatchQuery, BatchResult, QuerySpan
from vigie.server.pages.snapshot import Place
from vigie.wire.api.rows import JobLadder, LadderStep, ReceiptLine

POWER = "vigie_gpu_power_watts{%s}"
NOT_STORED = "nothing was measured while it ran, or that is stored no more"
HOUR_MS = 3_600_000
POINTS = 240
MIN_STEP_MS = 60_000
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


def receipt_queries(nodes: Sequence[str]) -> dict[str, BatchQuery]:
    """Return what has to be asked at moments of the job's life."""
    return {"power": BatchQuery(POWER % nodes_matcher(nodes))}


def build_receipt(
    places: Sequence[Place], lasted_ms: int, found: BatchResult, step_ms: int, gpus: int = 0
) -> list[ReceiptLine]:
    """Return the lines: GPU-hours held, measured, at each step of use, and energy.

    For a job that ended before its GPUs were seen, `gpus` is their number.
    """
    mine = set(places)
    used = {name: sum_hours(found, name, mine, step_ms) for name in STEPS if name != "held"}
    total = max((measured for measured, _ in used.values()), default=0.0)
    rows = [
        _line("GPU-hours held", (len(places) or gpus) * lasted_ms / HOUR_MS),
        _line("of them measured", total or None, reason=NOT_STORED),
    ]
    for name, (measured, spent) in used.items():
        label, why = STEPS[name]
        rows.append(_line(label, spent if measured else None, reason=why if total else NOT_STORED))
    watts = [value for row in found.rows.get("power", ()) if row.labels in mine for value in row.values]
    energy = sum(watts) * step_ms / HOUR_MS / 1000 if watts else None
    return [*rows, _line("energy of its GPUs", energy, "kWh", "no GPU of it told its power")]


def _line(label: str, value: float | None, unit: str = "GPU-hours", reason: str = "") -> ReceiptLine:
    return ReceiptLine(
        label, None if value is None else round(value, 2), unit, reason if value is None else ""
    )


def sample_times(start_ms: int, end_ms: int) -> QuerySpan:
    """Return the moments of a job's life at which it is looked at."""
    start = max(start_ms, end_ms - LONGEST_MS)
    step = max(MIN_STEP_MS, (end_ms - start) // POINTS)
    return QuerySpan(end_ms - (end_ms - start) // step * step, end_ms, step)


def ladder_queries(nodes: Sequence[str]) -> dict[str, BatchQuery]:
    """Return what has to be asked at each of these moments."""
    where = nodes_matcher(nodes)
    return {name: BatchQuery(query % where) for name, query in METRICS.items()}


def build_steps(
    now: JobLadder, places: Sequence[Place], found: BatchResult, step_ms: int
) -> list[LadderStep]:
    """Return the steps, with what was lost between each and the one before it that is known."""
    spent = {name: sum_hours(found, name, set(places), step_ms) for name in METRICS}
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
        gpus: float | None = getattr(now, name)
        rows.append(LadderStep(label, name, gpus, lost, why if gpus is None else ""))
    return rows


def sum_hours(found: BatchResult, name: str, places: set[Place], step_ms: int) -> tuple[float, float]:
    """Return for how many GPU-hours something was measured, and how much of them it was."""
    measured = used = 0.0
    for row in found.rows.get(name, ()):
        if row.labels in places:
            measured += len(row.values)
            used += sum(min(max(value, 0.0), 1.0) for value in row.values)
    return measured * step_ms / HOUR_MS, used * step_ms / HOUR_MS
