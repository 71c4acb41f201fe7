"""Who holds what by Slurm's own word: each job's GPUs on each node, the queue, and what has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from vigie.model import Binding
from vigie.model.binding import GPU
from vigie.workload.slurm.jobs import Job
from vigie.workload.slurm.nodes import Node
from vigie.workload.slurm.summary import JobSummary

JOB, QUEUE, NODE = "job", "queue", "node"
Place = tuple[str, str]  # node, resource
Run = tuple[str, int]  # a job and when it started: a requeued job runs twice


class NodeNames:
    """By which names a node of Slurm may be known elsewhere; the machine itself needs none."""

    def __init__(self, nodes: Iterable[Node], here: str = "") -> None:
        nodes = tuple(nodes)
        hosts, addresses = Counter(node.host for node in nodes), Counter(node.address for node in nodes)
        self._names: dict[str, tuple[str, ...]] = {}
        for node in nodes:
            # Several slurmd on one machine: then only the node's own name tells them apart.
            alone = hosts[node.host] == 1
            host = node.host if alone else ""
            address = node.address if addresses[node.address] == 1 else ""
            mine = alone and here and here.partition(".")[0] == node.host.partition(".")[0]
            self._names[node.name] = (
                () if mine else tuple(dict.fromkeys(filter(None, (node.name, host, address))))
            )

    def of(self, node: str) -> tuple[str, ...]:
        return self._names.get(node, (node,))


class AllocationHistory:
    """Remembers which GPUs a job has: when it has ended Slurm says how many, and no longer which."""

    def __init__(self) -> None:
        self._places: dict[Run, tuple[Place, ...]] = {}

    def bindings(self, jobs: JobSummary, names: NodeNames) -> Iterator[Binding]:
        """Yield what is held, what waits, and what has ended since the last time."""
        now: dict[Run, tuple[Place, ...]] = {}
        for job in jobs.held:
            if job.start_ms is None:
                continue
            run = (job.id, job.start_ms)
            places = tuple(_places(job))
            if job.gpus and not any(resource.startswith(GPU) for _, resource in places):
                # It is completing, and Slurm no longer says which GPUs it has.
                places = self._places.get(run, ())
            if places:
                now[run] = places
            yield from _held(job, places, names)
        for job in jobs.pending:
            yield Binding(QUEUE, JOB, job.id, job.submit_ms or 0, user=job.user, facts=_facts(job))
        for job in jobs.ended:
            run = (job.id, job.start_ms or 0)
            yield from _ended(job, self._places.get(run), names)
            if run in self._places:
                now[run] = self._places[run]  # Slurm tells of it for a while
        self._places = now


def _places(job: Job) -> Iterator[Place]:
    for nodes, gpus in job.allocations:
        for node in nodes:
            yield from ((node, f"gpu:{gpu}") for gpu in gpus)
            if not gpus:
                yield node, NODE


def _held(job: Job, places: Iterable[Place], names: NodeNames) -> Iterator[Binding]:
    facts = _facts(job)
    yield from _waited(job, facts)
    for node, resource in places:
        yield Binding(
            resource, JOB, job.id, job.start_ms or 0, user=job.user, facts=facts, node_names=names.of(node)
        )


def _waited(job: Job, facts: Mapping[str, str]) -> Iterator[Binding]:
    """Yield that a job waited before it started."""
    if job.submit_ms is not None and job.start_ms is not None and job.start_ms >= job.submit_ms:
        yield Binding(QUEUE, JOB, job.id, job.submit_ms, job.start_ms, job.user, facts=facts)


def _ended(job: Job, places: tuple[Place, ...] | None, names: NodeNames) -> Iterator[Binding]:
    if job.end_ms is None:
        return
    facts = _facts(job)
    if not job.nodes or job.start_ms is None:  # it was cancelled before it started
        yield Binding(QUEUE, JOB, job.id, job.submit_ms or job.end_ms, job.end_ms, job.user, facts=facts)
        return
    yield from _waited(job, facts)
    held = (job.start_ms, max(job.end_ms, job.start_ms), job.user)
    if places is not None:
        for node, resource in places:
            yield Binding(resource, JOB, job.id, *held, facts=facts, node_names=names.of(node))
        return
    for node, gpus in _gpus_by_node(job).items():
        more = {**facts, "held_gpus": str(gpus)} if gpus else facts
        yield Binding(NODE, JOB, job.id, *held, facts=more, node_names=names.of(node))


def _gpus_by_node(job: Job) -> dict[str, int]:
    """Return how many GPUs an ended job had on each node; where they cannot be split, all on the first."""
    each, rest = divmod(job.gpus, len(job.nodes))
    if not rest:
        return dict.fromkeys(job.nodes, each)
    first = job.batch_host if job.batch_host in job.nodes else job.nodes[0]
    return {**dict.fromkeys(job.nodes, 0), first: job.gpus}


def _facts(job: Job) -> dict[str, str]:
    """Return what else is known of a job; words for nothing are left out."""
    facts = {
        "name": job.name,
        "account": job.account,
        "partition": job.partition,
        "state": job.state,
        "limit": job.limit,
        "gpus": str(job.gpus) if job.gpus else "",
        "reason": job.reason if job.is_pending or job.has_ended else "",
        "exit_code": job.exit_code if job.has_ended else "",
        "array": job.array,
        "het_job": job.het_job,
        "restarts": str(job.restarts) if job.restarts else "",
        "sluid": job.sluid,
    }
    return {name: text for name, text in facts.items() if text}
