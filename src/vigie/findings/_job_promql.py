"""PromQL about jobs that hold GPUs without using them."""

from __future__ import annotations

# Each job on each of its GPUs. The series of a GPU come once by `max by`, whoever reports them twice.
JOBS = 'max by (instance, gpu, holder, user) (vigie_holder_info{kind="job",gpu!=""})'
HELD_NODES = 'count by (instance) (vigie_holder_info{gpu!=""})'
BUSY = "max by (instance, gpu) (vigie_gpu_busy_ratio)"
_HELD = 'vigie_holder_info{kind="job",gpu!=""}'
# Held for an hour by the same job, and not busy in it; without a process it never started: another finding.
IDLE = f"""(max by (instance, gpu, holder, user) ({_HELD} and {_HELD} offset 1h)
  and on (instance, gpu) (max_over_time(vigie_gpu_busy_ratio[1h]) < 0.02)
  unless on (instance, gpu) (max_over_time(vigie_gpu_processes[1h]) == 0))"""


def with_job(expression: str) -> str:
    """Return what is known of GPUs for each job that holds them: jobs may share a GPU."""
    return f"{JOBS} * on (instance, gpu) group_left () {expression}"


# Was busy at some time of the last hours, for the same job.
WORKED = f"(max_over_time(({with_job(BUSY)})[6h:10m]) > 0.1)"
