"""A job worked, stopped working, and still holds its GPUs."""

from __future__ import annotations

from vigie.findings._job_promql import IDLE, WORKED
from vigie.findings.core.finding import HOUR_MS, WARNING, Finding

FINDING = Finding(
    name="finished-holding",
    title="finished but still holding",
    severity=WARNING,
    what="Job {job} of {user} seems to have finished its work and still holds {gpus} ({places}).",
    do="Look whether its last step ended (a shell or a data loader may be left); if so: `scancel {job_id}`.",
    when=f"{IDLE}\n  and on (instance, gpu, holder) {WORKED}",
    lag_ms=HOUR_MS,
    chip="finished?",
    by_job=True,
)
