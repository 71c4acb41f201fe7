"""GPU activity over time, from jobs and incidents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vigie.simulation.cluster.incidents import CLOCK_CAP, HANG, LINK_FLAP, NEIGHBOUR, STARVED
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import MINUTE, Scenario
from vigie.simulation.cluster.workloads import (
    ENVIRONMENTS,
    IDLE,
    INFERENCE,
    LINGERING,
    NEVER_STARTED,
    NOTEBOOK,
    PIPELINE,
    SimulatedJob,
)

CHECKPOINT_EVERY, CHECKPOINT_LASTS = 20 * MINUTE, MINUTE
CAPPED = 1095 / 1980  # share of the clock left under a power brake
TYPED = 0.35  # share of time, and of memory, used in an environment
STARVED_TO, FLAPPING_TO, CROWDED_TO = 0.33, 0.55, 0.5


class Work(NamedTuple):
    """One GPU's work over time, as shares of time from 0 to 1, and of memory."""

    busy: Numbers  # a kernel runs
    computing: Numbers  # SM activity within it
    talking: Numbers  # traffic with other GPUs, relative to the maximum
    memory: Numbers  # share of the GPU's memory
    process: Numbers  # 1 while a process exists


def build_resting(times: Times) -> Work:
    """Return the work of an unused GPU."""
    return Work(*(np.zeros(len(times)) for _ in Work._fields))


def compute_work(scenario: Scenario, node: str, gpu: int, times: Times) -> Work:
    total = build_resting(times)
    for job in scenario.jobs_on(node):
        ranks = [(place.node, one) for place in job.places for one in place.gpus]
        if (node, gpu) in ranks:
            there = scenario.during(times, job.begin, job.end).astype(np.float64)
            done = _compute_progress(scenario, job, ranks.index((node, gpu)), len(ranks), times)
            total = Work(*(was + more * there for was, more in zip(total, done, strict=True)))
    for one in ENVIRONMENTS:
        if one.place.node == node and gpu in one.place.gpus:
            there = scenario.within(times, one.since, None)
            typed = _notebook_work(scenario, one.eid, TYPED, TYPED * there, there, times)
            total = Work(*(was + more * there for was, more in zip(total, typed, strict=True)))
    return total


def compute_pace(scenario: Scenario, job: SimulatedJob, times: Times) -> Numbers:
    """Return the speed of a job relative to its maximum: the slowest rank limits all."""
    speed = np.ones(len(times))
    for kind, left in ((CLOCK_CAP, CAPPED), (STARVED, STARVED_TO), (LINK_FLAP, FLAPPING_TO), (HANG, 0.0)):
        for incident in scenario.incidents_of(kind, job=job.id):
            speed = np.where(
                scenario.during(times, incident.begin, incident.end), np.minimum(speed, left), speed
            )
    for incident in scenario.incidents_of(NEIGHBOUR, job=job.id):
        speed *= np.where(scenario.during(times, incident.begin, incident.end), CROWDED_TO, 1.0)
    return speed * (1.0 - 0.9 * is_checkpointing(scenario, job, times))


def is_checkpointing(scenario: Scenario, job: SimulatedJob, times: Times) -> Numbers:
    """Return 1 while a training job writes a checkpoint."""
    if job.behaviour in (INFERENCE, NOTEBOOK, IDLE, NEVER_STARTED):
        return np.zeros(len(times))
    since = (times - scenario.at(job.begin)) % CHECKPOINT_EVERY
    saving = (since >= CHECKPOINT_EVERY - CHECKPOINT_LASTS).astype(np.float64)
    for incident in scenario.incidents_of(HANG, job=job.id):
        saving *= 1.0 - scenario.during(times, incident.begin, incident.end)
    if job.worked_until is not None:
        saving *= scenario.during(times, job.begin, job.worked_until)
    return saving


def _compute_progress(scenario: Scenario, job: SimulatedJob, rank: int, ranks: int, times: Times) -> Work:
    """Return the work of a rank while its job runs."""
    process = np.full(len(times), float(job.behaviour != NEVER_STARTED))
    memory = process * job.memory
    if job.behaviour in (IDLE, NEVER_STARTED):
        return build_resting(times)._replace(memory=memory, process=process)
    jitter = scenario.noise.around(f"{job.id}/{rank}", times, 5_000, 0.05)
    if job.behaviour == NOTEBOOK:
        return _notebook_work(scenario, job.id, job.activity, memory, process, times)
    if job.behaviour == INFERENCE:
        asked = compute_requests(scenario, job, times)
        return Work(np.clip(asked * jitter, 0, 1), asked * 0.55, asked * 0.05, memory, process)
    return _training_work(scenario, job, rank, ranks, times, jitter, memory, process)


def _notebook_work(
    scenario: Scenario, who: str, activity: float, memory: Numbers, process: Numbers, times: Times
) -> Work:
    """Return interactive work: a few minutes now and then."""
    jitter = scenario.noise.around(f"{who}/0", times, 5_000, 0.05)
    bursts = scenario.noise.uniform(f"{who}/cell", times, 3 * MINUTE) < activity
    busy: Numbers = np.where(bursts, np.clip(0.7 * jitter, 0, 1), 0.0)
    return Work(busy, busy * 0.5, np.zeros(len(times)), memory, process)


def _training_work(
    scenario: Scenario,
    job: SimulatedJob,
    rank: int,
    ranks: int,
    times: Times,
    jitter: Numbers,
    memory: Numbers,
    process: Numbers,
) -> Work:
    speed = compute_pace(scenario, job, times)
    full = job.activity * (1.0 - 0.45 * rank / max(ranks - 1, 1) if job.behaviour == PIPELINE else 1.0)
    computing = np.clip(full * 0.62 * speed * jitter, 0, 1)
    # Waiting in a collective spins and looks busy. Waiting for data or a checkpoint does not.
    spinning = np.full(len(times), full) * (1.0 - 0.85 * is_checkpointing(scenario, job, times))
    busy = np.clip(spinning * jitter + 0.06, 0, 1)
    for incident in scenario.incidents_of(STARVED, job=job.id):
        hungry = scenario.during(times, incident.begin, incident.end)
        busy = np.where(hungry, np.clip(STARVED_TO * 1.1 * jitter, 0, 1), busy)
    for incident in scenario.incidents_of(CLOCK_CAP, job=job.id):
        if (incident.node, incident.gpu) == _rank_place(job, rank):
            capped = scenario.during(times, incident.begin, incident.end)
            computing = np.where(capped, np.clip(full * 0.62 * jitter, 0, 1), computing)
    for incident in scenario.incidents_of(HANG, job=job.id):
        hung = scenario.during(times, incident.begin, incident.end)
        itself = (incident.node, incident.gpu) == _rank_place(job, rank)
        busy = np.where(hung, 0.0 if itself else 1.0, busy)
        computing = np.where(hung, 0.0 if itself else 0.06, computing)
    talking = np.clip(speed * jitter, 0, 1) * (ranks > 1)
    if job.behaviour == LINGERING and job.worked_until is not None:
        works = scenario.during(times, job.begin, job.worked_until)
        busy, computing, talking = busy * works, computing * works, talking * works
    return Work(busy, computing, talking, memory, process)


def compute_requests(scenario: Scenario, job: SimulatedJob, times: Times) -> Numbers:
    """Return the load of an inference job: it drifts, and drops while CPUs are saturated."""
    drift = 0.6 + 0.4 * scenario.noise.smooth(f"{job.id}/load", times, 30 * MINUTE)
    burst = scenario.noise.around(f"{job.id}/burst", times, 15_000, 0.1)
    return np.clip(job.activity * drift * burst * compute_pace(scenario, job, times), 0, 1)


def _rank_place(job: SimulatedJob, rank: int) -> tuple[str, int]:
    return [(place.node, gpu) for place in job.places for gpu in place.gpus][rank]
