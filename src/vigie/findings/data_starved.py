"""GPUs of a job wait for input data."""

from __future__ import annotations

from vigie.findings._job_promql import with_job
from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

_BUSY = with_job("max by (instance, gpu) (avg_over_time(vigie_gpu_busy_ratio[10m]))")
FINDING = Finding(
    title="GPUs waiting for data",
    severity=WARNING,
    summary="Job {job} is likely starved for data: "
    "GPUs on {nodes} are {value} busy and tasks there stall on I/O.",
    action="Check the data loader of job {job_id}: more workers, larger reads, faster storage.",
    query=f"""(avg by (instance, holder) ({_BUSY}) < 0.6 > 0.05)
  and on (instance) (rate(node_pressure_io_waiting_seconds_total[10m]) > 0.3)""",
    lag_ms=5 * MINUTE_MS,
    by_job=True,
    unit="ratio",
    badge="data-starved",
    explained_by=("node-lost", "node-stopped"),
)
