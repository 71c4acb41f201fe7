"""Jobs and incidents at absolute times, on the available machines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vigie.simulation.cluster.incidents import INCIDENTS, ScriptedIncident
from vigie.simulation.cluster.machines import MACHINES, MachineSpec
from vigie.simulation.cluster.noise import Noise, Numbers, Times
from vigie.simulation.cluster.workloads import EIGHT, JOBS, PENDING, TRAINING, PendingJob, SimulatedJob, Slot

MINUTE = 60_000
NODES_PER_JOB = 4  # on machines that are not part of the scenario


class Scenario:
    """What happens, from the first sample on; the same for the same seed and time."""

    def __init__(self, machines: Sequence[MachineSpec], now_ms: int, seed: int) -> None:
        self.machines = {machine.name: machine for machine in machines}
        self.now_ms = now_ms
        self.noise = Noise(seed)
        self.jobs = tuple(self._fit([*JOBS, *_generate_jobs(machines)]))
        self.incidents = tuple(one for one in INCIDENTS if self._exists(one))
        self.pending: tuple[PendingJob, ...] = PENDING
        self._jobs_on: dict[str, list[SimulatedJob]] = defaultdict(list)
        for job in self.jobs:
            for place in job.places:
                self._jobs_on[place.node].append(job)

    def at(self, minutes: float) -> int:
        """Return the time in ms at an offset in minutes from now."""
        return self.now_ms + round(minutes * MINUTE)

    def during(self, times: Times, begin: float, end: float | None) -> NDArray[np.bool_]:
        """Return for each time whether it is between two offsets in minutes from now."""
        inside: NDArray[np.bool_] = times >= self.at(begin)
        return inside if end is None else inside & (times < self.at(end))

    def within(self, times: Times, begin: float, end: float | None) -> Numbers:
        """Return 1 for each time between the two, else 0."""
        return self.during(times, begin, end).astype(np.float64)

    def jobs_on(self, node: str) -> Sequence[SimulatedJob]:
        """Return past, running and future jobs of a node."""
        return self._jobs_on[node]

    def incidents_of(self, kind: str, *, node: str = "", job: str = "") -> list[ScriptedIncident]:
        return [
            one
            for one in self.incidents
            if one.kind == kind and (not node or one.node == node) and (not job or one.job == job)
        ]

    def _fit(self, jobs: Sequence[SimulatedJob]) -> list[SimulatedJob]:
        """Return the jobs with the places that exist. Jobs without any are dropped."""
        kept = []
        for job in jobs:
            there = tuple(place for wanted in job.places if (place := self._find_slot(wanted)))
            if there:
                kept.append(job._replace(places=there))
        return kept

    def _find_slot(self, wanted: Slot) -> Slot | None:
        machine = self.machines.get(wanted.node)
        if machine is None:
            return None
        gpus = tuple(gpu for gpu in wanted.gpus if gpu < machine.gpus)
        return Slot(wanted.node, gpus) if gpus or not wanted.gpus else None

    def _exists(self, incident: ScriptedIncident) -> bool:
        machine = self.machines.get(incident.node)
        return machine is not None and (incident.gpu is None or incident.gpu < machine.gpus)


def _generate_jobs(machines: Sequence[MachineSpec]) -> list[SimulatedJob]:
    """Return training jobs for the machines that are not part of the scenario."""
    names = {machine.name for machine in MACHINES}
    plain = [machine.name for machine in machines if machine.name not in names]
    jobs = []
    for number, first in enumerate(range(0, len(plain), NODES_PER_JOB)):
        places = tuple(Slot(node, EIGHT) for node in plain[first : first + NODES_PER_JOB])
        user, account = (("alice", "language"), ("bob", "vision"), ("dave", "language"))[number % 3]
        jobs.append(
            SimulatedJob(
                str(5000 + number), f"train-{number:03d}", user, account, "train", TRAINING, places, -400
            )
        )
    return jobs
