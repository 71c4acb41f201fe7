"""Bindings of the simulated cluster: GPUs and nodes of jobs, the queue, containers, environments."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Binding
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.workloads import ENVIRONMENTS, PendingJob, SimulatedJob

SLURM, GENV, DOCKER = "slurm", "genv", "docker"


def build_bindings(scenario: Scenario, head: str) -> Iterator[tuple[str, Binding]]:
    """Yield each binding with its node. The scheduler's node reports pending jobs."""
    for node in scenario.machines:
        for binding in build_node_bindings(scenario, node, head=node == head):
            yield node, binding


def build_node_bindings(scenario: Scenario, node: str, *, head: bool) -> Iterator[Binding]:
    """Yield the bindings that the sources of one node would report."""
    for job in scenario.jobs_on(node):
        yield from _gpu_bindings(scenario, job, node)
    if head:
        yield from (_queue_binding(scenario, waiting) for waiting in scenario.pending)
    for one in ENVIRONMENTS:
        for gpu in one.place.gpus if one.place.node == node else ():
            begin = scenario.at(one.since)
            yield Binding(f"gpu:{gpu}", "environment", one.eid, begin, None, one.user, GENV)


def _gpu_bindings(scenario: Scenario, job: SimulatedJob, node: str) -> Iterator[Binding]:
    begin, end = scenario.at(job.begin), None if job.end is None else scenario.at(job.end)
    facts = {
        "name": job.name,
        "account": job.account,
        "partition": job.partition,
        "state": job.state,
        "limit": f"{job.limit_hours:g}h",
    }
    gpus = next(place.gpus for place in job.places if place.node == node)
    for resource in [f"gpu:{gpu}" for gpu in gpus] or ["node"]:
        yield Binding(resource, "job", job.id, begin, end, job.user, SLURM, facts)
        if job.image:
            name, more = f"{job.name}-{job.id}", {"image": job.image, "job": job.id}
            yield Binding(resource, "container", name, begin, end, job.user, DOCKER, more)


def _queue_binding(scenario: Scenario, waiting: PendingJob) -> Binding:
    facts = {
        "name": waiting.name,
        "account": waiting.account,
        "partition": waiting.partition,
        "gpus": str(waiting.gpus),
        "reason": waiting.reason,
    }
    begin = scenario.at(waiting.since)
    return Binding("queue", "job", waiting.id, begin, None, waiting.user, SLURM, facts)
