"""One rank of a job does nothing while the others are busy: they wait for it in a collective."""

from __future__ import annotations

from vigie.findings._job_promql import with_job
from vigie.findings.core.finding import CRITICAL, MINUTE_MS, Finding

_BUSY = with_job("max by (instance, gpu) (avg_over_time(vigie_gpu_busy_ratio[5m]))")
_WORKING = with_job("max by (instance, gpu) (avg_over_time(DCGM_FI_PROF_SM_ACTIVE[5m]))")
FINDING = Finding(
    name="rank-hung",
    title="one rank hangs",
    severity=CRITICAL,
    what="A rank of job {job} hangs: {places} does nothing while the others spin and wait for it.",
    was="A rank of job {job} hung for {lasted}: {places} did nothing while the others waited.",
    do="Look what the process on {places} does (`py-spy dump`); if it does not come back, "
    "let {user} cancel the job: `scancel {job_id}`.",
    after="Look in the log of job {job_id} for what it waited for.",
    # Where the others compute they do not wait: this one has nothing to do by design.
    when=f"""(({_BUSY}) < 0.02)
  and on (holder) (quantile by (holder) (0.5, {_BUSY}) > 0.7)
  and on (instance, gpu) (max_over_time(vigie_gpu_processes[10m]) > 0)
  unless on (holder) (quantile by (holder) (0.5, {_WORKING}) > 0.3)""",
    lag_ms=5 * MINUTE_MS,
    explains=("spinning", "idle-holder", "finished-holding"),
    chip="hangs",
    by_job=True,
)
