"""One rank of a job is idle while the others are busy: they likely wait for it in a collective."""

from __future__ import annotations

from vigie.findings._job_promql import with_job
from vigie.findings.core.finding import CRITICAL, MINUTE_MS, Finding

_BUSY = with_job("max by (instance, gpu) (avg_over_time(vigie_gpu_busy_ratio[5m]))")
_WORKING = with_job("max by (instance, gpu) (avg_over_time(DCGM_FI_PROF_SM_ACTIVE[5m]))")
FINDING = Finding(
    title="Rank hung",
    severity=CRITICAL,
    summary="Job {job}: the rank on {places} is likely hung: idle while most GPUs of the job are busy.",
    action="Run `py-spy dump` there. If stuck, ask {user} to run `scancel {job_id}`.",
    resolved_action="Check the log of job {job_id} for the cause.",
    # Where the others compute they do not wait: this one has nothing to do by design.
    query=f"""(({_BUSY}) < 0.02)
  and on (holder) (quantile by (holder) (0.5, {_BUSY}) > 0.7)
  and on (instance, gpu) (max_over_time(vigie_gpu_processes[10m]) > 0)
  unless on (holder) (quantile by (holder) (0.5, {_WORKING}) > 0.3)""",
    lag_ms=5 * MINUTE_MS,
    explains=("spinning", "idle-holder", "finished-holding"),
    by_job=True,
    badge="hung",
    explained_by=("node-lost", "node-stopped"),
    alert_after="5m",
)
