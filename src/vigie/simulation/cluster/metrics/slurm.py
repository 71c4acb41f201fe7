"""Scheduler metrics of the simulated cluster, as a Slurm exporter would expose them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from vigie.simulation.cluster.incidents import DRAINED, LOST
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.workloads import USERS, SimulatedJob

ENDED = {"COMPLETED": "completed", "NODE_FAIL": "node_fail", "CANCELLED": "cancelled"}
NODE_STATES = ("alloc", "comp", "down", "drain", "err", "fail", "idle", "maint", "mix", "resv")
NEVER_QUEUED = ("suspended", "completing", "configuring", "failed", "timeout", "preempted")


class Scheduler:
    """Counts nodes, cores, GPUs and jobs over time."""

    def __init__(self, scenario: Scenario, times: Times) -> None:
        self._scenario, self._times = scenario, times
        self._zero = np.zeros(len(times))
        self._running = {job.id: scenario.within(times, job.begin, job.end) for job in scenario.jobs}
        self._pending = {one.id: scenario.within(times, one.since, None) for one in scenario.pending}

    def columns(self) -> Iterator[Column]:
        yield from self._queue()
        yield from self._nodes()
        yield from self._partitions()
        yield from self._people()
        yield from self._gpus()
        yield from self._controller()

    def _queue(self) -> Iterator[Column]:
        yield gauge("slurm_queue_running", self._sum(self._running.values()))
        pending = self._sum(self._pending.values())
        dependent = self._sum(self._pending[w.id] for w in self._scenario.pending if w.reason == "Dependency")
        yield gauge("slurm_queue_pending", pending)
        yield gauge("slurm_queue_pending_dependency", dependent)
        for state, name in ENDED.items():
            over = [self._over(job) for job in self._scenario.jobs if job.state == state]
            yield gauge(f"slurm_queue_{name}", self._sum(over))
        for name in NEVER_QUEUED:
            yield gauge(f"slurm_queue_{name}", self._zero)

    def _nodes(self) -> Iterator[Column]:
        states = dict.fromkeys(NODE_STATES, self._zero)
        totals = {"alloc": self._zero, "idle": self._zero, "other": self._zero}
        for machine in self._scenario.machines.values():
            taken, gone, drained = (
                self._allocated_share(machine),
                self._down_share(machine),
                self._drained_share(machine),
            )
            usable = (1 - gone) * (1 - drained)
            full = taken >= 1
            states["down"] = states["down"] + gone
            states["drain"] = states["drain"] + drained * (1 - gone)
            states["alloc"] = states["alloc"] + usable * full
            states["mix"] = states["mix"] + usable * ((taken > 0) & ~full)
            states["idle"] = states["idle"] + usable * (taken == 0)
            used = np.round(taken * machine.cores) * usable
            totals["alloc"] = totals["alloc"] + used
            totals["idle"] = totals["idle"] + (machine.cores - used) * usable
            totals["other"] = totals["other"] + machine.cores * (1 - usable)
            yield from self._node(machine, used, gone, drained)
        for name, values in states.items():
            yield gauge(f"slurm_nodes_{name}", values)
        for name, values in totals.items():
            yield gauge(f"slurm_cpus_{name}", values)
        yield gauge("slurm_cpus_total", self._sum(totals.values()))

    def _node(self, machine: MachineSpec, used: Numbers, gone: Numbers, drained: Numbers) -> Iterator[Column]:
        """Yield the metrics of a node, by its status at each time."""
        usable, full = (1 - gone) * (1 - drained), used >= machine.cores
        memory = self._zero + machine.memory_bytes / 2**20
        statuses = {
            "down": gone > 0,
            "drained": (drained > 0) & (gone == 0),
            "allocated": (usable > 0) & full,
            "mixed": (usable > 0) & (used > 0) & ~full,
            "idle": (usable > 0) & (used == 0),
        }
        for status, there in statuses.items():
            labels = machine.name, status
            for column in (
                gauge("slurm_node_cpu_alloc", used, *labels),
                gauge("slurm_node_cpu_idle", (machine.cores - used) * usable, *labels),
                gauge("slurm_node_cpu_other", machine.cores * (1 - usable), *labels),
                gauge("slurm_node_cpu_total", self._zero + machine.cores, *labels),
                gauge("slurm_node_mem_alloc", memory * used / machine.cores, *labels),
                gauge("slurm_node_mem_total", memory, *labels),
            ):
                if there.any():
                    yield column._replace(there=there.astype(np.float64))

    def _partitions(self) -> Iterator[Column]:
        for partition in sorted({machine.partition for machine in self._scenario.machines.values()}):
            machines = [one for one in self._scenario.machines.values() if one.partition == partition]
            total = self._zero + sum(one.cores for one in machines)
            used = self._sum(np.round(self._allocated_share(one) * one.cores) for one in machines)
            away = self._sum(
                one.cores * np.maximum(self._down_share(one), self._drained_share(one)) for one in machines
            )
            yield gauge("slurm_partition_cpus_allocated", used, partition)
            yield gauge("slurm_partition_cpus_idle", np.maximum(total - used - away, 0), partition)
            yield gauge("slurm_partition_cpus_other", away, partition)
            yield gauge("slurm_partition_cpus_total", total, partition)
            waiting = [self._pending[one.id] for one in self._scenario.pending if one.partition == partition]
            yield gauge("slurm_partition_jobs_pending", self._sum(waiting), partition)

    def _people(self) -> Iterator[Column]:
        for kind, names in (("user", USERS), ("account", ("language", "vision"))):
            for name in names:
                running = [job for job in self._scenario.jobs if getattr(job, kind) == name]
                waiting = [one for one in self._scenario.pending if getattr(one, kind) == name]
                cores = self._sum(self._running[job.id] * self._cores(job) for job in running)
                jobs = self._sum(self._running[job.id] for job in running)
                pending = self._sum(self._pending[one.id] for one in waiting)
                yield gauge(f"slurm_{kind}_jobs_running", jobs, name)
                yield gauge(f"slurm_{kind}_jobs_pending", pending, name)
                yield gauge(f"slurm_{kind}_cpus_running", cores, name)
                yield gauge(f"slurm_{kind}_jobs_suspended", self._zero, name)
        yield gauge("slurm_account_fairshare", self._zero + 0.42, "language")
        yield gauge("slurm_account_fairshare", self._zero + 0.61, "vision")

    def _gpus(self) -> Iterator[Column]:
        total = self._zero + sum(machine.gpus for machine in self._scenario.machines.values())
        used = self._sum(
            self._running[job.id] * sum(len(place.gpus) for place in job.places)
            for job in self._scenario.jobs
        )
        yield gauge("slurm_gpus_alloc", used)
        yield gauge("slurm_gpus_idle", total - used)
        yield gauge("slurm_gpus_total", total)
        yield gauge("slurm_gpus_utilization", used / np.maximum(total, 1))

    def _controller(self) -> Iterator[Column]:
        cycle = 9_000 * self._scenario.noise.around("slurm/cycle", self._times, 60_000, 0.3)
        yield gauge("slurm_scheduler_threads", self._zero + 3)
        yield gauge("slurm_scheduler_queue_size", self._zero)
        yield gauge("slurm_scheduler_dbd_queue_size", self._zero)
        yield gauge("slurm_scheduler_last_cycle", np.round(cycle))
        yield gauge("slurm_scheduler_mean_cycle", self._zero + 9_000)
        yield gauge("slurm_scheduler_cycle_per_minute", self._zero + 2)
        yield gauge("slurm_scheduler_backfill_last_cycle", np.round(cycle * 4))
        yield gauge("slurm_scheduler_backfill_mean_cycle", self._zero + 36_000)
        yield gauge("slurm_scheduler_backfill_depth_mean", self._zero + len(self._scenario.pending))
        yield rate("slurm_scheduler_backfilled_jobs_since_start_total", self._zero + 0.002, start=812)
        yield rate("slurm_scheduler_backfilled_jobs_since_cycle_total", self._zero + 0.002, start=37)
        yield gauge("slurm_scheduler_backfilled_heterogeneous_total", self._zero)
        yield from self._polling()

    def _polling(self) -> Iterator[Column]:
        """Yield how the simulated controller is polled."""
        age = (self._times % 60_000) / 1000
        yield gauge("vigie_slurm_up", self._zero + 1)
        yield gauge("vigie_slurm_state_age_seconds", age)
        yield gauge("vigie_slurm_poll_interval_seconds", self._zero + 60)
        for command, seconds in (("jobs", 0.031), ("nodes", 0.018), ("sdiag", 0.009)):
            spread = self._scenario.noise.around(f"slurm/{command}", self._times, 60_000, 0.3)
            yield gauge("vigie_slurm_reply_seconds", seconds * spread, command)
            yield rate("vigie_slurm_calls_total", self._zero + 1 / 60, command)
            yield rate("vigie_slurm_failed_calls_total", self._zero, command)
        for reason in sorted({one.reason for one in self._scenario.pending}):
            mine = [self._pending[one.id] for one in self._scenario.pending if one.reason == reason]
            yield gauge("vigie_slurm_pending_jobs", self._sum(mine), reason)
        for partition in sorted({one.partition for one in self._scenario.pending}):
            since = min(one.since for one in self._scenario.pending if one.partition == partition)
            waited = np.maximum(self._times - self._scenario.at(since), 0) / 1000
            yield gauge("vigie_slurm_oldest_pending_seconds", waited, partition)

    def _sum(self, parts: Iterable[Numbers]) -> Numbers:
        total = self._zero
        for part in parts:
            total = total + part
        return total

    def _over(self, job: SimulatedJob) -> Numbers:
        return self._scenario.within(self._times, job.end or 0, None)

    def _cores(self, job: SimulatedJob) -> float:
        return sum(
            round(
                self._scenario.machines[place.node].cores
                * _share(self._scenario.machines[place.node], place.gpus)
            )
            for place in job.places
        )

    def _allocated_share(self, machine: MachineSpec) -> Numbers:
        taken = self._zero
        for job in self._scenario.jobs_on(machine.name):
            gpus = next(place.gpus for place in job.places if place.node == machine.name)
            taken = taken + self._running[job.id] * _share(machine, gpus)
        return np.minimum(taken, 1.0)

    def _down_share(self, machine: MachineSpec) -> Numbers:
        return self._within(LOST, machine.name)

    def _drained_share(self, machine: MachineSpec) -> Numbers:
        return self._within(DRAINED, machine.name)

    def _within(self, kind: str, node: str) -> Numbers:
        inside = self._zero
        for incident in self._scenario.incidents_of(kind, node=node):
            inside = np.maximum(inside, self._scenario.within(self._times, incident.begin, incident.end))
        return inside


def _share(machine: MachineSpec, gpus: tuple[int, ...]) -> float:
    return len(gpus) / machine.gpus if machine.gpus and gpus else 1.0
