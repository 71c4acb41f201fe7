"""A job has GPUs allocated and no process on them."""

from __future__ import annotations

from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

_HELD = 'vigie_holder_info{kind="job",gpu!=""}'
FINDING = Finding(
    title="No process on allocated GPUs",
    severity=WARNING,
    summary="Job {job} ({user}) has {gpus} allocated and no GPU process for 15m or more ({places}).",
    action="Check the output of job {job_id}: it may wait for an image, license or input.",
    query=f"""max by (instance, gpu, holder, user) ({_HELD} and {_HELD} offset 15m)
  and on (instance, gpu) (max_over_time(vigie_gpu_processes[15m]) == 0)
  and on (instance, gpu) (max_over_time(vigie_gpu_busy_ratio[15m]) < 0.02)""",
    lag_ms=15 * MINUTE_MS,
    by_job=True,
    badge="no process",
    explained_by=("node-lost", "node-stopped"),
)
