"""The state of a cluster as `slurm_*`, counted as squeue, sinfo and sdiag print it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vigie.model import Sample
from vigie.workload.slurm.metrics import BY_NAME, OLDEST, PENDING_JOBS, QUEUE
from vigie.workload.slurm.nodes import Node
from vigie.workload.slurm.summary import JobSummary, Share

# How a state of sinfo begins, and what the conventional metrics call it; planned nodes are still idle.
NODE_STATES = {
    "alloc": "alloc",
    "comp": "comp",
    "down": "down",
    "drain": "drain",
    "err": "err",
    "fail": "fail",
    "idle": "idle",
    "maint": "maint",
    "mix": "mix",
    "res": "resv",
    "planned": "idle",
}


class ClusterState(NamedTuple):
    """What Slurm last said."""

    jobs: JobSummary
    nodes: tuple[Node, ...]
    partitions: tuple[str, ...]
    diagnostics: Mapping[str, int]
    shares: Mapping[str, float]
    time_ms: int = 0


def cluster_samples(state: ClusterState) -> Iterator[Sample]:
    """Yield `slurm_*`; what Slurm did not say is left out."""
    yield from _queue(state.jobs)
    yield from _nodes(state.nodes)
    yield from _partitions(state)
    yield from _shares("user", state.jobs.users)
    yield from _shares("account", state.jobs.accounts)
    for account, factor in state.shares.items():
        yield _sample("slurm_account_fairshare", factor, account)
    for name, value in state.diagnostics.items():
        yield _sample(f"slurm_scheduler_{name}", value)
    for reason, count in state.jobs.reasons.items():
        yield PENDING_JOBS, (reason,), count
    for partition, since_ms in state.jobs.oldest_ms.items():
        yield OLDEST, (partition,), max(state.time_ms - since_ms, 0) / 1000


def _sample(name: str, value: float, *labels: str) -> Sample:
    return BY_NAME[name], labels, value


def _queue(jobs: JobSummary) -> Iterator[Sample]:
    for metric in QUEUE:
        state = metric.name[len("slurm_queue_") :]
        count = jobs.pending_dependency if state == "pending_dependency" else jobs.states[state.upper()]
        yield metric, (), count


def _nodes(nodes: Iterable[Node]) -> Iterator[Sample]:
    states: Counter[str] = Counter()
    cpus: Counter[str] = Counter()
    gpus = allocated = 0
    for node in nodes:
        yield from _node(node)
        if not node.partitions:
            continue  # as sinfo: no job can be given it
        states[next((word for begin, word in NODE_STATES.items() if node.state.startswith(begin)), "")] += 1
        cpus.update(_cpus(node))
        gpus, allocated = gpus + node.gpus, allocated + node.gpus_alloc
    for word in dict.fromkeys(NODE_STATES.values()):
        yield _sample(f"slurm_nodes_{word}", states[word])
    for word in ("alloc", "idle", "other", "total"):
        yield _sample(f"slurm_cpus_{word}", cpus[word])
    yield _sample("slurm_gpus_alloc", allocated)
    yield _sample("slurm_gpus_idle", max(gpus - allocated, 0))
    yield _sample("slurm_gpus_total", gpus)
    if gpus:
        yield _sample("slurm_gpus_utilization", allocated / gpus)


def _node(node: Node) -> Iterator[Sample]:
    labels = node.name, node.state
    for word, count in _cpus(node).items():
        yield _sample(f"slurm_node_cpu_{word}", count, *labels)
    yield _sample("slurm_node_mem_alloc", node.memory_alloc_mb, *labels)
    yield _sample("slurm_node_mem_total", node.memory_mb, *labels)


def _cpus(node: Node) -> dict[str, int]:
    return {"alloc": node.cpus_alloc, "idle": node.cpus_idle, "other": node.cpus_other, "total": node.cpus}


def _partitions(state: ClusterState) -> Iterator[Sample]:
    cpus: dict[str, Counter[str]] = {name: Counter() for name in state.partitions}
    for node in state.nodes:
        for name in node.partitions:
            cpus.setdefault(name, Counter()).update(_cpus(node))
    for name, count in cpus.items():
        yield _sample("slurm_partition_cpus_allocated", count["alloc"], name)
        for word in ("idle", "other", "total"):
            yield _sample(f"slurm_partition_cpus_{word}", count[word], name)
        yield _sample("slurm_partition_jobs_pending", state.jobs.partitions[name], name)


def _shares(kind: str, shares: Mapping[str, Share]) -> Iterator[Sample]:
    for name, share in shares.items():
        yield _sample(f"slurm_{kind}_jobs_pending", share.pending, name)
        yield _sample(f"slurm_{kind}_jobs_running", share.running, name)
        yield _sample(f"slurm_{kind}_cpus_running", share.cpus, name)
        yield _sample(f"slurm_{kind}_jobs_suspended", share.suspended, name)
