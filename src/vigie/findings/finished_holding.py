"""A job worked and is idle now, with its GPUs still allocated."""

from __future__ import annotations

from vigie.findings._job_promql import IDLE, WORKED
from vigie.findings.core.finding import HOUR_MS, WARNING, Finding

FINDING = Finding(
    title="Idle after working",
    severity=WARNING,
    summary="Job {job} ({user}) may have finished: {gpus} idle for over 1h ({places}).",
    action="Look for a leftover process. If done: `scancel {job_id}`.",
    query=f"{IDLE}\n  and on (instance, gpu, holder) {WORKED}",
    lag_ms=HOUR_MS,
    by_job=True,
    badge="finished?",
    explained_by=("node-lost", "node-stopped"),
)
