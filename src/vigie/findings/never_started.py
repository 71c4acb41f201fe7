"""A job got GPUs and no process of it has come to them."""

from __future__ import annotations

from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

_HELD = 'vigie_holder_info{kind="job",gpu!=""}'
FINDING = Finding(
    name="never-started",
    title="allocated, never started",
    severity=WARNING,
    what="Job {job} of {user} was given {gpus} ({places}) and has started nothing on them.",
    do="Look at the output of job {job_id}: it may wait for a container image, a licence or a prompt.",
    when=f"""max by (instance, gpu, holder, user) ({_HELD} and {_HELD} offset 15m)
  and on (instance, gpu) (max_over_time(vigie_gpu_processes[15m]) == 0)
  and on (instance, gpu) (max_over_time(vigie_gpu_busy_ratio[15m]) < 0.02)""",
    lag_ms=15 * MINUTE_MS,
    chip="not started",
    by_job=True,
)
