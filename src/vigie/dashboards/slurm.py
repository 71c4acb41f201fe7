"""Slurm: queue, nodes, partitions, accounts, users and the scheduler itself."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import ANY, build_multi_panel, build_panel
from vigie.model.dashboard import Dashboard, Panel, Section

_NEEDS = "a Slurm exporter that is scraped (a source of our own is to come)"


def _states(title: str, why: str, family: str, states: str, **rest: Any) -> Panel:
    """Return a chart of one family by state."""
    queries = {state.replace("_", " "): f"sum(slurm_{family}_{state})" for state in states.split()}
    return build_multi_panel(title, why, "count", queries, stack=True, needs=_NEEDS, floor=0, **rest)


def _by(label: str, title: str, why: str, unit: str, metric: str) -> Panel:
    """Return a chart with a line for each partition, account or user."""
    return build_panel(
        title, why, unit, f"sum by ({label}) ({metric})", f"{{{{{label}}}}}", needs=_NEEDS, floor=0
    )


def _number(title: str, why: str, unit: str, promql: str, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", needs=_NEEDS, **rest)


_NOW = (
    _number(
        "Jobs running",
        "Few running beside idle GPUs means that nobody asks, or that what is asked for does not fit.",
        "count",
        "sum(slurm_queue_running)",
    ),
    _number(
        "Jobs waiting", "Those that wait for resources or priority.", "count", "sum(slurm_queue_pending)"
    ),
    _number(
        "Waiting for another job",
        "They wait for a dependency and not for resources.",
        "count",
        "sum(slurm_queue_pending_dependency)",
    ),
    _number(
        "GPUs given to jobs",
        "Of all that Slurm has: near 100% new jobs wait.",
        "ratio",
        "sum(slurm_gpus_alloc) / sum(slurm_gpus_total)",
    ),
    _number(
        "CPUs given to jobs",
        "Of all that Slurm has.",
        "ratio",
        "sum(slurm_cpus_alloc) / sum(slurm_cpus_total)",
    ),
    _number(
        "Nodes drained or down",
        "Each one is lost to all jobs until somebody looks.",
        "count",
        "sum(slurm_nodes_drain) + sum(slurm_nodes_down) + sum(slurm_nodes_fail)",
        thresholds=ANY,
    ),
)
_QUEUE = (
    _states(
        "Jobs, alive",
        "A queue that grows with idle GPUs has a reason: look at the page Jobs.",
        "queue",
        "running pending pending_dependency configuring completing suspended",
    ),
    _states(
        "Jobs that ended",
        "Failures, timeouts and lost nodes in one place.",
        "queue",
        "completed cancelled failed timeout preempted node_fail",
    ),
    _states(
        "GPUs",
        "Idle ones with jobs waiting are reserved, or do not fit what is asked for.",
        "gpus",
        "alloc idle",
    ),
    _states("CPUs", "Other are those of nodes that are drained or down.", "cpus", "alloc idle other"),
)
_NODES = (
    _states(
        "Nodes, by state",
        "Drained and down ones want somebody.",
        "nodes",
        "alloc mix idle resv comp maint drain down err fail",
    ),
    build_panel(
        "CPUs given, by node",
        "Nodes with few given while jobs wait lack memory or GPUs.",
        "ratio",
        "sum by (node) (slurm_node_cpu_alloc) / sum by (node) (slurm_node_cpu_total)",
        "{{node}}",
        kind="band",
        needs=_NEEDS,
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Memory given, by node",
        "At 100% no further job fits, whatever CPUs are left.",
        "ratio",
        "sum by (node) (slurm_node_mem_alloc) / sum by (node) (slurm_node_mem_total)",
        "{{node}}",
        kind="band",
        needs=_NEEDS,
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "State of each node",
        "As Slurm sees it; the value is the node's CPUs.",
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
        "Jobs waiting, by partition",
        "Where people queue.",
        "count",
        "slurm_partition_jobs_pending",
    ),
    build_panel(
        "CPUs given, by partition",
        "A full partition beside an empty one: its limits may be wrong.",
        "ratio",
        "sum by (partition) (slurm_partition_cpus_allocated)"
        " / sum by (partition) (slurm_partition_cpus_total)",
        "{{partition}}",
        needs=_NEEDS,
        floor=0,
        ceiling=1,
    ),
    _by(
        "partition",
        "CPUs idle, by partition",
        "What could still be given.",
        "count",
        "slurm_partition_cpus_idle",
    ),
    _by(
        "partition",
        "CPUs out of use, by partition",
        "On nodes that are drained or down.",
        "count",
        "slurm_partition_cpus_other",
    ),
)
_PEOPLE = (
    _by("user", "Jobs running, by user", "Who uses the cluster now.", "count", "slurm_user_jobs_running"),
    _by(
        "user",
        "Jobs waiting, by user",
        "One with hundreds may hold up the rest.",
        "count",
        "slurm_user_jobs_pending",
    ),
    _by(
        "user",
        "Jobs suspended, by user",
        "They hold memory and do nothing.",
        "count",
        "slurm_user_jobs_suspended",
    ),
    _by("user", "CPUs, by user", "What each was given.", "count", "slurm_user_cpus_running"),
    _by(
        "account",
        "Jobs running, by account",
        "Which project uses the cluster now.",
        "count",
        "slurm_account_jobs_running",
    ),
    _by("account", "Jobs waiting, by account", "Which project waits.", "count", "slurm_account_jobs_pending"),
    _by(
        "account",
        "Jobs suspended, by account",
        "They hold memory and do nothing.",
        "count",
        "slurm_account_jobs_suspended",
    ),
    _by("account", "CPUs, by account", "What each was given.", "count", "slurm_account_cpus_running"),
    _by(
        "account",
        "Fair share",
        "Low means that the account has used more than its share and will wait.",
        "ratio",
        "slurm_account_fairshare",
    ),
)
_SCHEDULER = (
    build_multi_panel(
        "Length of a cycle",
        "Long cycles mean that jobs start late.",
        "seconds",
        {
            "last": "slurm_scheduler_last_cycle / 1e6",
            "mean": "slurm_scheduler_mean_cycle / 1e6",
            "backfill, last": "slurm_scheduler_backfill_last_cycle / 1e6",
            "backfill, mean": "slurm_scheduler_backfill_mean_cycle / 1e6",
        },
        needs=_NEEDS,
        floor=0,
    ),
    build_multi_panel(
        "Work that waits",
        "The controller or its database cannot keep up.",
        "count",
        {
            "for the controller": "slurm_scheduler_queue_size",
            "for the database": "slurm_scheduler_dbd_queue_size",
        },
        needs=_NEEDS,
        floor=0,
    ),
    build_multi_panel(
        "Threads and cycles",
        "Threads at their limit: clients ask too often.",
        "count",
        {"threads": "slurm_scheduler_threads", "cycles a minute": "slurm_scheduler_cycle_per_minute"},
        needs=_NEEDS,
        floor=0,
    ),
    build_multi_panel(
        "Backfill",
        "How deep it looks, and how many jobs it started since the controller did.",
        "count",
        {
            "mean depth": "slurm_scheduler_backfill_depth_mean",
            "jobs started": "slurm_scheduler_backfilled_jobs_since_start_total",
        },
        needs=_NEEDS,
        floor=0,
    ),
)

DASHBOARD = Dashboard(
    "slurm",
    "Slurm",
    "The queue, nodes, partitions, accounts and users, and the scheduler itself.",
    (
        Section("Now", _NOW),
        Section("Queue", _QUEUE),
        Section("Nodes", _NODES),
        Section("Partitions", _PARTITIONS),
        Section("Users and accounts", _PEOPLE),
        Section("Scheduler", _SCHEDULER),
    ),
)
