"""A job has held GPUs for an hour without using them, though its process is there."""

from __future__ import annotations

from vigie.findings._job_promql import IDLE, WORKED
from vigie.findings.core.finding import HOUR_MS, WARNING, Finding

FINDING = Finding(
    name="idle-holder",
    title="held but idle",
    severity=WARNING,
    what="Job {job} of {user} holds {gpus} ({places}) and has not used them.",
    do="Ask {user} whether it is still needed; if not: `scancel {job_id}`.",
    when=f"{IDLE}\n  unless on (instance, gpu, holder) {WORKED}",
    lag_ms=HOUR_MS,
    chip="idle",
    by_job=True,
)
