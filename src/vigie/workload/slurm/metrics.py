"""Metrics of a Slurm cluster, with the names that existing dashboards use."""

from __future__ import annotations

from vigie.model import Metric, counter, gauge, untyped


def _states(prefix: str, help: str, states: str, *labels: str) -> tuple[Metric, ...]:
    """Return one gauge per state. The help text ends with its name."""
    return tuple(gauge(f"{prefix}_{state}", f"{help} `{state}`.", *labels) for state in states.split())


CPUS = _states("slurm_cpus", "CPUs of the cluster in state", "alloc idle other total")
NODES = _states("slurm_nodes", "Nodes in state", "alloc comp down drain err fail idle maint mix resv")
NODE = (
    *_states("slurm_node_cpu", "CPUs of the node in state", "alloc idle other total", "node", "status"),
    gauge("slurm_node_mem_alloc", "Allocated memory of the node, in MB.", "node", "status"),
    gauge("slurm_node_mem_total", "Total memory of the node, in MB.", "node", "status"),
)
QUEUE = _states(
    "slurm_queue",
    "Jobs in state",
    "pending pending_dependency running suspended cancelled completing completed configuring failed timeout "
    "preempted node_fail",
)
PARTITION = (
    *_states(
        "slurm_partition_cpus", "CPUs of the partition in state", "allocated idle other total", "partition"
    ),
    gauge("slurm_partition_jobs_pending", "Pending jobs of the partition.", "partition"),
)
ACCOUNT = (
    gauge("slurm_account_jobs_pending", "Pending jobs of the account.", "account"),
    gauge("slurm_account_jobs_running", "Running jobs of the account.", "account"),
    gauge("slurm_account_cpus_running", "CPUs allocated to the account's jobs.", "account"),
    gauge("slurm_account_jobs_suspended", "Suspended jobs of the account.", "account"),
    gauge("slurm_account_fairshare", "Fair-share factor of the account.", "account"),
)
USER = (
    gauge("slurm_user_jobs_pending", "Pending jobs of the user.", "user"),
    gauge("slurm_user_jobs_running", "Running jobs of the user.", "user"),
    gauge("slurm_user_cpus_running", "CPUs allocated to the user's jobs.", "user"),
    gauge("slurm_user_jobs_suspended", "Suspended jobs of the user.", "user"),
)
SCHEDULER = (
    gauge("slurm_scheduler_threads", "Threads of slurmctld."),
    gauge("slurm_scheduler_queue_size", "Messages queued for slurmctld."),
    gauge("slurm_scheduler_dbd_queue_size", "Messages queued for slurmdbd."),
    gauge("slurm_scheduler_last_cycle", "Duration of the last scheduling cycle, in microseconds."),
    gauge("slurm_scheduler_mean_cycle", "Mean duration of a scheduling cycle, in microseconds."),
    gauge("slurm_scheduler_cycle_per_minute", "Scheduling cycles per minute."),
    gauge("slurm_scheduler_backfill_last_cycle", "Duration of the last backfill cycle, in microseconds."),
    gauge("slurm_scheduler_backfill_mean_cycle", "Mean duration of a backfill cycle, in microseconds."),
    gauge("slurm_scheduler_backfill_depth_mean", "Mean number of jobs considered per backfill cycle."),
    gauge("slurm_scheduler_backfilled_jobs_since_start_total", "Jobs backfilled since slurmctld started."),
    gauge(
        "slurm_scheduler_backfilled_jobs_since_cycle_total",
        "Jobs backfilled since its statistics were reset.",
    ),
    gauge("slurm_scheduler_backfilled_heterogeneous_total", "Components of heterogeneous jobs backfilled."),
)
GPUS = (
    gauge("slurm_gpus_alloc", "Allocated GPUs."),
    gauge("slurm_gpus_idle", "Idle GPUs."),
    gauge("slurm_gpus_total", "GPUs of the cluster."),
    gauge("slurm_gpus_utilization", "Share of allocated GPUs, 0 to 1."),
)
CONVENTIONAL = (*CPUS, *NODES, *NODE, *QUEUE, *PARTITION, *ACCOUNT, *USER, *SCHEDULER, *GPUS)
PENDING = (
    PENDING_JOBS := gauge("vigie_slurm_pending_jobs", "Pending jobs by Slurm's reason.", "reason"),
    OLDEST := gauge(
        "vigie_slurm_oldest_pending_seconds", "Time since the oldest pending job was submitted.", "partition"
    ),
)
POLLING = (
    UP := gauge("vigie_slurm_up", "1 when the controller replied to the last poll, else 0."),
    AGE := gauge("vigie_slurm_state_age_seconds", "Age of the state that slurm_* shows."),
    INTERVAL := gauge("vigie_slurm_poll_interval_seconds", "Time between polls; doubles on a slow reply."),
    REPLY := gauge("vigie_slurm_reply_seconds", "Duration of the last call of a Slurm command.", "command"),
    CALLS := counter("vigie_slurm_calls_total", "Calls of a Slurm command.", "command"),
    FAILURES := counter("vigie_slurm_failed_calls_total", "Failed calls of a Slurm command.", "command"),
)
BY_NAME = {metric.name: metric for metric in (*CONVENTIONAL, *PENDING, *POLLING)}
METRICS = (
    *BY_NAME.values(),
    untyped("slurm_*", "What slurmctld serves itself (25.11 and later), under its own names and labels."),
)
