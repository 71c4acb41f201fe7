"""A job has GPUs allocated and never used them."""

from __future__ import annotations

from vigie.findings._job_promql import IDLE, WORKED
from vigie.findings.core.finding import HOUR_MS, WARNING, Finding

FINDING = Finding(
    title="Allocated but idle",
    severity=WARNING,
    summary="Job {job} ({user}) has {gpus} allocated but idle for over 1h ({places}).",
    action="Ask {user}. If not needed: `scancel {job_id}`.",
    query=f"{IDLE}\n  unless on (instance, gpu, holder) {WORKED}",
    lag_ms=HOUR_MS,
    by_job=True,
    badge="idle",
    explained_by=("node-lost", "node-stopped"),
    alert_after="5m",
)
