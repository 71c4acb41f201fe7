"""What the training jobs of a node report with `vigie.report`, rank by rank."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vigie.simulation.cluster.activity import compute_pace
from vigie.simulation.cluster.device_names import build_pid
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import MINUTE, Scenario
from vigie.simulation.cluster.workloads import LINGERING, PIPELINE, TRAINING, SimulatedJob

REPORTING = (TRAINING, PIPELINE, LINGERING)
SAMPLES = 8  # of one rank in a step
MFU = 0.43  # of a job that nothing holds back and whose GPUs compute all the time
STANDS_STILL = 0.05  # of its pace: no step ends, so that nothing new is reported


def report_columns(scenario: Scenario, machine: MachineSpec, times: Times) -> Iterator[Column]:
    """Yield what each rank on the node last reported, and what the agent counts of it."""
    reporting = [job for job in scenario.jobs_on(machine.name) if job.behaviour in REPORTING]
    for job in reporting:
        there = scenario.within(times, job.begin, job.end)
        places = [(place.node, gpu) for place in job.places for gpu in place.gpus]
        for rank, (node, gpu) in enumerate(places):
            if node == machine.name:
                labels = str(rank), str(gpu), build_pid(gpu), job.id, job.user
                for measure, values in _measures(scenario, job, rank, times):
                    yield gauge("vigie_report_value", values, measure, *labels)._replace(there=there)
    each = np.full(len(times), float(len(reporting) * machine.gpus))
    yield rate("vigie_agent_reports_received_total", each)
    yield rate("vigie_agent_reports_refused_total", each * 0)


def _measures(
    scenario: Scenario, job: SimulatedJob, rank: int, times: Times
) -> Iterator[tuple[str, Numbers]]:
    speed = compute_pace(scenario, job, times)
    speed = np.where(speed > STANDS_STILL, speed, 1.0)
    took = job.step_seconds / speed * scenario.noise.around(f"{job.id}/step", times, 15_000, 0.02)
    steps = _steps(scenario, job, times)
    jitter = scenario.noise.around(f"{job.id}/{rank}/loss", times, 15_000, 0.015)
    yield "loss", np.round((1.6 + 7.5 / (1 + steps / 120) ** 0.4) * jitter, 4)
    yield "step", steps
    yield "step_seconds", np.round(took, 4)
    yield "samples_per_second", np.round(SAMPLES / took, 3)
    yield "mfu", np.round(MFU * job.activity * job.step_seconds / took, 4)


def _steps(scenario: Scenario, job: SimulatedJob, times: Times) -> Numbers:
    """Return the steps done so far: what held the job back at any time has cost some."""
    begin = scenario.at(job.begin)
    minutes = np.arange(begin, max(int(times[-1]), begin) + MINUTE, MINUTE, dtype=np.int64)
    moving = np.where(
        compute_pace(scenario, job, minutes) > STANDS_STILL, compute_pace(scenario, job, minutes), 0.0
    )
    if job.worked_until is not None:
        moving *= scenario.within(minutes, job.begin, job.worked_until)
    done = np.concatenate([[0.0], np.cumsum(moving[:-1]) * MINUTE / 1000 / job.step_seconds])
    steps: Numbers = np.floor(np.interp(times, minutes, done))
    return steps
