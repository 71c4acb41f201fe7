"""Slurm: queue, nodes, partitions, accounts, users and scheduler."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import ANY, build_multi_panel, build_panel
from vigie.model.dashboard import Dashboard, Panel, Section

_NEEDS = "the slurm source on Slurm's controller, or a scraped Slurm exporter"
_NEEDS_SOURCE = "the slurm source on Slurm's controller"


def _states(title: str, why: str, family: str, states: str, **rest: Any) -> Panel:
    """Build a chart of one metric by state."""
    queries = {state.replace("_", " "): f"sum(slurm_{family}_{state})" for state in states.split()}
    return build_multi_panel(title, why, "count", queries, stack=True, needs=_NEEDS, **rest)


def _by(label: str, title: str, why: str, unit: str, metric: str) -> Panel:
    """Build a chart with one line per partition, account or user."""
    return build_panel(title, why, unit, f"sum by ({label}) ({metric})", f"{{{{{label}}}}}", needs=_NEEDS)


def _number(title: str, why: str, unit: str, promql: str, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", needs=_NEEDS, **rest)


_NOW = (
    _number(
        "Running jobs",
        "Few with idle GPUs: no demand, or requests that do not fit.",
        "count",
        "sum(slurm_queue_running)",
    ),
    _number("Pending jobs", "Waiting for resources or priority.", "count", "sum(slurm_queue_pending)"),
    _number(
        "Pending on dependency",
        "Waiting for another job, not for resources.",
        "count",
        "sum(slurm_queue_pending_dependency)",
    ),
    _number(
        "Allocated GPUs",
        "Share of all GPUs. Near 100% new jobs wait.",
        "ratio",
        "sum(slurm_gpus_alloc) / sum(slurm_gpus_total)",
    ),
    _number(
        "Allocated CPUs",
        "Share of all CPUs.",
        "ratio",
        "sum(slurm_cpus_alloc) / sum(slurm_cpus_total)",
    ),
    _number(
        "Nodes drained or down",
        "Unavailable to jobs until fixed.",
        "count",
        "sum(slurm_nodes_drain) + sum(slurm_nodes_down) + sum(slurm_nodes_fail)",
        thresholds=ANY,
    ),
)
_QUEUE = (
    _states(
        "Active jobs",
        "A growing queue with idle GPUs has a reason: see Jobs.",
        "queue",
        "running pending pending_dependency configuring completing suspended",
    ),
    _states(
        "Ended jobs",
        "Failures, timeouts and node failures.",
        "queue",
        "completed cancelled failed timeout preempted node_fail",
    ),
    _states(
        "GPUs",
        "Idle with pending jobs: reserved, or requests do not fit.",
        "gpus",
        "alloc idle",
    ),
    _states("CPUs", "Other: on drained or down nodes.", "cpus", "alloc idle other"),
)
_PENDING = (
    build_panel(
        "Pending jobs by reason",
        "Resources and Priority clear by themselves; the others need a user or an administrator.",
        "count",
        "sum by (reason) (vigie_slurm_pending_jobs)",
        "{{reason}}",
        stack=True,
        needs=_NEEDS_SOURCE,
        floor=0,
    ),
    build_panel(
        "Oldest pending job by partition",
        "Time since its submission.",
        "seconds",
        "max by (partition) (vigie_slurm_oldest_pending_seconds)",
        "{{partition}}",
        needs=_NEEDS_SOURCE,
        floor=0,
    ),
)
_NODES = (
    _states(
        "Nodes by state",
        "Drained and down nodes need attention.",
        "nodes",
        "alloc mix idle resv comp maint drain down err fail",
    ),
    build_panel(
        "Allocated CPUs by node",
        "Few while jobs are pending: the node lacks memory or GPUs.",
        "ratio",
        "sum by (node) (slurm_node_cpu_alloc) / sum by (node) (slurm_node_cpu_total)",
        "{{node}}",
        kind="band",
        needs=_NEEDS,
        ceiling=1,
    ),
    build_panel(
        "Allocated memory by node",
        "At 100% no further job fits.",
        "ratio",
        "sum by (node) (slurm_node_mem_alloc) / sum by (node) (slurm_node_mem_total)",
        "{{node}}",
        kind="band",
        needs=_NEEDS,
        ceiling=1,
    ),
    build_panel(
        "Node states",
        "Slurm's view. The value is the node's CPUs.",
        "count",
        "sum by (node, status) (slurm_node_cpu_total)",
        "CPUs",
        kind="table",
        needs=_NEEDS,
    ),
)
_PARTITIONS = (
    _by(
        "partition",
        "Pending jobs by partition",
        "Where jobs queue.",
        "count",
        "slurm_partition_jobs_pending",
    ),
    build_panel(
        "Allocated CPUs by partition",
        "A full partition next to an empty one: check its limits.",
        "ratio",
        "sum by (partition) (slurm_partition_cpus_allocated)"
        " / sum by (partition) (slurm_partition_cpus_total)",
        "{{partition}}",
        needs=_NEEDS,
        ceiling=1,
    ),
    _by(
        "partition",
        "Idle CPUs by partition",
        "Available for allocation.",
        "count",
        "slurm_partition_cpus_idle",
    ),
    _by(
        "partition",
        "Unavailable CPUs by partition",
        "On drained or down nodes.",
        "count",
        "slurm_partition_cpus_other",
    ),
)
_PEOPLE = (
    _by("user", "Running jobs by user", "Current usage.", "count", "slurm_user_jobs_running"),
    _by(
        "user",
        "Pending jobs by user",
        "Hundreds of one user may delay others.",
        "count",
        "slurm_user_jobs_pending",
    ),
    _by(
        "user",
        "Suspended jobs by user",
        "Suspended jobs keep their memory.",
        "count",
        "slurm_user_jobs_suspended",
    ),
    _by("user", "Allocated CPUs by user", "Current allocation.", "count", "slurm_user_cpus_running"),
    _by(
        "account",
        "Running jobs by account",
        "Current usage.",
        "count",
        "slurm_account_jobs_running",
    ),
    _by("account", "Pending jobs by account", "Waiting projects.", "count", "slurm_account_jobs_pending"),
    _by(
        "account",
        "Suspended jobs by account",
        "Suspended jobs keep their memory.",
        "count",
        "slurm_account_jobs_suspended",
    ),
    _by("account", "Allocated CPUs by account", "Current allocation.", "count", "slurm_account_cpus_running"),
    _by(
        "account",
        "Fair share",
        "Low: the account used more than its share and will wait.",
        "ratio",
        "slurm_account_fairshare",
    ),
)
_SCHEDULER = (
    build_multi_panel(
        "Cycle time",
        "Long cycles delay the start of jobs.",
        "seconds",
        {
            "last": "slurm_scheduler_last_cycle / 1e6",
            "mean": "slurm_scheduler_mean_cycle / 1e6",
            "backfill last": "slurm_scheduler_backfill_last_cycle / 1e6",
            "backfill mean": "slurm_scheduler_backfill_mean_cycle / 1e6",
        },
        needs=_NEEDS,
    ),
    build_multi_panel(
        "Backlog",
        "The controller or database cannot keep up.",
        "count",
        {
            "slurmctld": "slurm_scheduler_queue_size",
            "slurmdbd": "slurm_scheduler_dbd_queue_size",
        },
        needs=_NEEDS,
    ),
    build_multi_panel(
        "Threads and cycles",
        "Threads at their limit: too many client requests.",
        "count",
        {"threads": "slurm_scheduler_threads", "cycles per minute": "slurm_scheduler_cycle_per_minute"},
        needs=_NEEDS,
    ),
    build_multi_panel(
        "Backfill",
        "Depth of a cycle, and jobs started since slurmctld started.",
        "count",
        {
            "mean depth": "slurm_scheduler_backfill_depth_mean",
            "jobs started": "slurm_scheduler_backfilled_jobs_since_start_total",
        },
        needs=_NEEDS,
    ),
)
_POLLING = (
    build_multi_panel(
        "Age and interval",
        "The interval doubles while the controller is slow, busy or does not reply.",
        "seconds",
        {
            "age of the state": "max(vigie_slurm_state_age_seconds)",
            "interval": "max(vigie_slurm_poll_interval_seconds)",
        },
        needs=_NEEDS_SOURCE,
        floor=0,
    ),
    build_panel(
        "Reply time by command",
        "Above 2s the controller is polled less often.",
        "seconds",
        "max by (command) (vigie_slurm_reply_seconds)",
        "{{command}}",
        needs=_NEEDS_SOURCE,
        floor=0,
    ),
    build_panel(
        "Failed calls by command",
        "While calls fail, the last state stays on display.",
        "count",
        "sum by (command) (increase(vigie_slurm_failed_calls_total[$__rate_interval]))",
        "{{command}}",
        needs=_NEEDS_SOURCE,
        floor=0,
    ),
)

DASHBOARD = Dashboard(
    "slurm",
    "Slurm",
    "Queue, nodes, partitions, accounts, users and scheduler.",
    (
        Section("Now", _NOW),
        Section("Queue", _QUEUE),
        Section("Pending jobs", _PENDING),
        Section("Nodes", _NODES),
        Section("Partitions", _PARTITIONS),
        Section("Users and accounts", _PEOPLE),
        Section("Scheduler", _SCHEDULER),
        Section("Polling", _POLLING),
    ),
)
