"""Physics of a host: cores, memory, disks and networks follow its jobs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vigie.simulation.cluster.activity import compute_pace, is_checkpointing
from vigie.simulation.cluster.incidents import LEAK, LINK_FLAP, NEIGHBOUR, STARVED
from vigie.simulation.cluster.machines import GIB, MachineSpec
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import MINUTE, Scenario
from vigie.simulation.cluster.workloads import (
    CPU_ONLY,
    IDLE,
    INFERENCE,
    NEVER_STARTED,
    NOTEBOOK,
    SimulatedJob,
)

PORT_BYTES = 21e9  # per second, of an InfiniBand port at maximum traffic
LOADERS = 0.055  # share of a node's cores per GPU for data loading
FLAPS, DOWN_MINUTES = (
    (0.0, 1.6, 3.4),
    0.5,
)  # minutes into a flapping link at which it goes down, and durations


class HostPhysics(NamedTuple):
    """A host over time. Cores and pressures are shares, traffic is in bytes per second."""

    user: Numbers
    system: Numbers
    iowait: Numbers
    memory_used: Numbers  # bytes
    cached: Numbers  # bytes
    read: Numbers
    written: Numbers
    disk_busy: Numbers
    cpu_waiting: Numbers
    io_waiting: Numbers
    memory_waiting: Numbers
    network: Numbers
    fabric: Numbers  # per port
    killed: Numbers  # OOM kills


def compute_host(scenario: Scenario, machine: MachineSpec, times: Times) -> HostPhysics:
    zero = np.zeros(len(times))
    name, noise = machine.name, scenario.noise
    jitter = noise.around(f"{name}/cpu", times, 5_000, 0.15)
    user, iowait, read, written, fabric = (zero + base for base in (0.01, 0.001, 2e6, 3e6, 0.0))
    memory = zero + 12 * GIB
    for job in scenario.jobs_on(name):
        there = scenario.during(times, job.begin, job.end)
        part = _job_load(scenario, machine, job, times)
        user, iowait = user + part.user * there, iowait + part.iowait * there
        read, written = read + part.read * there, written + part.written * there
        memory, fabric = memory + part.memory_used * there, fabric + part.fabric * there
    crowded = _within(scenario, NEIGHBOUR, name, times)
    user = np.clip(user * jitter + 0.9 * crowded, 0, 0.97)
    leaked, killed = _leak(scenario, machine, times)
    memory = np.minimum(memory + leaked, machine.memory_bytes * 0.995)
    short = np.clip((memory / machine.memory_bytes - 0.93) * 12, 0, 0.8)
    busy = np.clip(read / 6e9 + written / 4e9 + iowait * 2.5, 0, 1)
    return HostPhysics(
        user=user,
        system=np.clip(0.006 + user * 0.08 + read / 6e10, 0, 0.2) * jitter,
        iowait=np.minimum(iowait * jitter, 0.99 - user - 0.02) * (user < 0.9),
        memory_used=memory,
        cached=np.minimum((machine.memory_bytes - memory) * 0.6, 900.0 * GIB),
        read=read * jitter,
        written=written * jitter,
        disk_busy=busy,
        cpu_waiting=np.clip(user - 0.75, 0, 0.25) * 3.2 + 0.002,
        io_waiting=np.clip(iowait * 2.2, 0, 0.95) + 0.001,
        memory_waiting=short,
        network=2e6 * jitter + read * 0.02,
        fabric=fabric,
        killed=killed,
    )


def compute_port(scenario: Scenario, node: str, device: str, times: Times) -> tuple[Numbers, Numbers]:
    """Return 1 while an InfiniBand port is up, and its link-down count."""
    up, fell = np.ones(len(times)), np.zeros(len(times))
    for begin in count_link_downs(scenario, node, device):
        up = np.where(scenario.during(times, begin, begin + DOWN_MINUTES), 0.0, up)
        fell = fell + scenario.within(times, begin, None)
    return up, fell


def count_link_downs(scenario: Scenario, node: str, device: str) -> list[float]:
    """Return when a port goes down, in minutes from now."""
    flapping = [one for one in scenario.incidents_of(LINK_FLAP, node=node) if one.device == device]
    return [one.begin + after for one in flapping for after in FLAPS]


def _job_load(scenario: Scenario, machine: MachineSpec, job: SimulatedJob, times: Times) -> HostPhysics:
    """Return the load of one job on the host while it runs."""
    zero = np.zeros(len(times))
    nothing = HostPhysics(*(zero for _ in HostPhysics._fields))
    gpus = sum(len(place.gpus) for place in job.places if place.node == machine.name)
    if job.behaviour == CPU_ONLY:
        drift = scenario.noise.smooth(f"{job.id}/cpu", times, 10 * MINUTE)
        return nothing._replace(user=0.55 + 0.3 * drift, memory_used=zero + 40 * GIB, read=zero + 4e8)
    memory = zero + gpus * 24 * GIB
    if job.behaviour in (IDLE, NEVER_STARTED, NOTEBOOK, INFERENCE):
        busy = 0.01 if job.behaviour in (IDLE, NEVER_STARTED) else 0.02
        return nothing._replace(user=zero + busy * gpus, memory_used=memory * 0.3)
    speed, saving = compute_pace(scenario, job, times), is_checkpointing(scenario, job, times)
    if job.worked_until is not None:
        speed = speed * scenario.during(times, job.begin, job.worked_until)
    hungry = _data_stalls(scenario, job, times)
    across = float(len(job.places) > 1)
    return nothing._replace(
        user=LOADERS * gpus * (0.35 + 0.65 * speed) * (1 - 0.7 * hungry),
        iowait=0.3 * hungry + 0.04 * saving,
        memory_used=memory,
        read=1.1e8 * gpus * speed * (1 - 0.5 * hungry),
        written=3.2e8 * gpus * saving,
        fabric=PORT_BYTES * speed * across,
    )


def _data_stalls(scenario: Scenario, job: SimulatedJob, times: Times) -> Numbers:
    hungry = np.zeros(len(times))
    for incident in scenario.incidents_of(STARVED, job=job.id):
        hungry = np.maximum(hungry, scenario.during(times, incident.begin, incident.end))
    return hungry


def _leak(scenario: Scenario, machine: MachineSpec, times: Times) -> tuple[Numbers, Numbers]:
    """Return the bytes of a leak, and its OOM kills."""
    leaked, killed = np.zeros(len(times)), np.zeros(len(times))
    for incident in scenario.incidents_of(LEAK, node=machine.name):
        begin, end = scenario.at(incident.begin), scenario.at(incident.end or 0)
        share = np.clip((times - begin) / (end - begin), 0, 1) * (times < end)
        leaked += share * machine.memory_bytes * 0.9
        killed += times >= end
    return leaked, killed


def _within(scenario: Scenario, kind: str, node: str, times: Times) -> Numbers:
    inside = np.zeros(len(times))
    for incident in scenario.incidents_of(kind, node=node):
        inside = np.maximum(inside, scenario.during(times, incident.begin, incident.end))
    return inside
