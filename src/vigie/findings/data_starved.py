"""The GPUs of a job wait for data: busy half of the time at most, while the node waits for its disks."""

from __future__ import annotations

from vigie.findings._job_promql import with_job
from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

_BUSY = with_job("max by (instance, gpu) (avg_over_time(vigie_gpu_busy_ratio[10m]))")
FINDING = Finding(
    name="data-starved",
    title="waits for data",
    severity=WARNING,
    what="Job {job} waits for data: its GPUs on {nodes} work {value} of the time, and the processes there "
    "wait for the disk.",
    was="Job {job} waited for data for {lasted}: its GPUs on {nodes} had too little to do.",
    do="Look at the data loader of job {job_id}: more workers, larger reads, data on /scratch or in memory.",
    when=f"""(avg by (instance, holder) ({_BUSY}) < 0.6 > 0.05)
  and on (instance) (rate(node_pressure_io_waiting_seconds_total[10m]) > 0.3)""",
    chip="starved",
    lag_ms=5 * MINUTE_MS,
    by_job=True,
    unit="ratio",
)
