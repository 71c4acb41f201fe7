"""PromQL about jobs that hold GPUs without using them."""

from __future__ import annotations

from vigie.findings._promql import BUSY, of_jobs

_HELD = 'vigie_holder_info{kind="job",gpu!=""}'
# Held for an hour by the same job, and not busy in it; without a process it never started: another finding.
IDLE = f"""(max by (instance, gpu, holder, user) ({_HELD} and {_HELD} offset 1h)
  and on (instance, gpu) (max_over_time(vigie_gpu_busy_ratio[1h]) < 0.02)
  unless on (instance, gpu) (max_over_time(vigie_gpu_processes[1h]) == 0))"""
# Was busy at some time of the last hours, for the same job.
WORKED = f"(max_over_time(({of_jobs(BUSY)})[6h:10m]) > 0.1)"
