"""GPUs of a job look busy and compute nothing: it likely hangs in a collective."""

from __future__ import annotations

from vigie.findings._job_promql import with_job
from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

FINDING = Finding(
    title="Busy but not computing",
    severity=WARNING,
    summary="Job {job}: {gpus} over 90% busy with SM activity below 12% for 10m. "
    "Likely stuck in a collective.",
    action="Run `py-spy dump`. If stuck: `scancel {job_id}`.",
    query=with_job("""max by (instance, gpu) (
    (min_over_time(vigie_gpu_busy_ratio[10m]) > 0.9)
    and on (instance, gpu) (max_over_time(DCGM_FI_PROF_SM_ACTIVE[10m]) < 0.12))"""),
    lag_ms=10 * MINUTE_MS,
    by_job=True,
    badge="spinning",
)
