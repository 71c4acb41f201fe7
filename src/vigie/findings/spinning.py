"""GPUs of a job look busy and compute nothing: the job hangs in a collective."""

from __future__ import annotations

from vigie.findings._job_promql import with_job
from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

FINDING = Finding(
    name="spinning",
    title="busy without computing",
    severity=WARNING,
    what="Job {job} looks busy and computes nothing on {gpus}: it seems to hang in a collective.",
    do="Look what its processes do (`py-spy dump`); if nothing moves, cancel it: `scancel {job_id}`.",
    when=with_job("""max by (instance, gpu) (
    (min_over_time(vigie_gpu_busy_ratio[10m]) > 0.9)
    and on (instance, gpu) (max_over_time(DCGM_FI_PROF_SM_ACTIVE[10m]) < 0.12))"""),
    lag_ms=10 * MINUTE_MS,
    chip="spins",
    by_job=True,
)
