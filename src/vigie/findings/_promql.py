"""Pieces of PromQL that several diagnoses share."""

from __future__ import annotations

# Each job on each of its GPUs. The series of a GPU come once by `max by`, whoever reports them twice.
JOBS = 'max by (instance, gpu, holder, user) (vigie_holder_info{kind="job",gpu!=""})'
HELD_NODES = 'count by (instance) (vigie_holder_info{gpu!=""})'
BUSY = "max by (instance, gpu) (vigie_gpu_busy_ratio)"


def of_jobs(expression: str) -> str:
    """Return what is known of GPUs for each job that holds them: jobs may share a GPU."""
    return f"{JOBS} * on (instance, gpu) group_left () {expression}"
