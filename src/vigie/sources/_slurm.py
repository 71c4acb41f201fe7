"""The metrics of a Slurm cluster, under the names that dashboards of its exporters know."""

from __future__ import annotations

from vigie.model import Metric, gauge


def _states(prefix: str, help: str, states: str, *labels: str) -> tuple[Metric, ...]:
    """Return one gauge for each state; the help ends with its name."""
    return tuple(gauge(f"{prefix}_{state}", f"{help} `{state}`.", *labels) for state in states.split())


CPUS = _states("slurm_cpus", "CPUs of the cluster in state", "alloc idle other total")
NODES = _states("slurm_nodes", "Nodes in state", "alloc comp down drain err fail idle maint mix resv")
NODE = (
    *_states("slurm_node_cpu", "CPUs of the node in state", "alloc idle other total", "node", "status"),
    gauge("slurm_node_mem_alloc", "Memory of the node that jobs were given, in MB.", "node", "status"),
    gauge("slurm_node_mem_total", "Memory of the node, in MB.", "node", "status"),
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
    gauge("slurm_partition_jobs_pending", "Jobs that wait for the partition.", "partition"),
)
ACCOUNT = (
    gauge("slurm_account_jobs_pending", "Jobs of the account that wait.", "account"),
    gauge("slurm_account_jobs_running", "Jobs of the account that run.", "account"),
    gauge("slurm_account_cpus_running", "CPUs that the account's jobs were given.", "account"),
    gauge("slurm_account_jobs_suspended", "Jobs of the account that are suspended.", "account"),
    gauge("slurm_account_fairshare", "Fair-share factor of the account.", "account"),
)
USER = (
    gauge("slurm_user_jobs_pending", "Jobs of the user that wait.", "user"),
    gauge("slurm_user_jobs_running", "Jobs of the user that run.", "user"),
    gauge("slurm_user_cpus_running", "CPUs that the user's jobs were given.", "user"),
    gauge("slurm_user_jobs_suspended", "Jobs of the user that are suspended.", "user"),
)
SCHEDULER = (
    gauge("slurm_scheduler_threads", "Threads of the controller."),
    gauge("slurm_scheduler_queue_size", "Messages that wait for the controller."),
    gauge("slurm_scheduler_dbd_queue_size", "Messages that wait for the accounting database."),
    gauge("slurm_scheduler_last_cycle", "Time of the last scheduling cycle, in microseconds."),
    gauge("slurm_scheduler_mean_cycle", "Mean time of a scheduling cycle, in microseconds."),
    gauge("slurm_scheduler_cycle_per_minute", "Scheduling cycles a minute."),
    gauge("slurm_scheduler_backfill_last_cycle", "Time of the last backfill cycle, in microseconds."),
    gauge("slurm_scheduler_backfill_mean_cycle", "Mean time of a backfill cycle, in microseconds."),
    gauge("slurm_scheduler_backfill_depth_mean", "Jobs that a backfill cycle looks at, on average."),
    gauge("slurm_scheduler_backfilled_jobs_since_start_total", "Jobs backfilled since the controller began."),
    gauge(
        "slurm_scheduler_backfilled_jobs_since_cycle_total", "Jobs backfilled since its counters were reset."
    ),
    gauge("slurm_scheduler_backfilled_heterogeneous_total", "Parts of heterogeneous jobs backfilled."),
)
GPUS = (
    gauge("slurm_gpus_alloc", "GPUs that jobs were given."),
    gauge("slurm_gpus_idle", "GPUs that no job was given."),
    gauge("slurm_gpus_total", "GPUs of the cluster."),
    gauge("slurm_gpus_utilization", "Share of the GPUs that jobs were given, from 0 to 1."),
)
METRICS = (*CPUS, *NODES, *NODE, *QUEUE, *PARTITION, *ACCOUNT, *USER, *SCHEDULER, *GPUS)
