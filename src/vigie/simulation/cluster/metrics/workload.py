"""Containers and genv environments of a node, as their exporters would expose them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

import numpy as np

from vigie.simulation.cluster.device_names import build_pid
from vigie.simulation.cluster.gpu_physics import GpuReadings
from vigie.simulation.cluster.machines import GIB, MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.noise import Times
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.workloads import ENVIRONMENTS, SimulatedEnvironment, SimulatedJob


def container_columns(scenario: Scenario, machine: MachineSpec, times: Times) -> Iterator[Column]:
    """Yield the metrics of each container while its job runs."""
    for job in scenario.jobs_on(machine.name):
        if job.image:
            there = scenario.during(times, job.begin, job.end).astype(np.float64)
            for column in _container(scenario, job, machine, times):
                yield column._replace(there=there)


def _container(scenario: Scenario, job: SimulatedJob, machine: MachineSpec, times: Times) -> Iterator[Column]:
    digest = sha256(f"{job.id}/{machine.name}".encode()).hexdigest()
    which = f"/system.slice/docker-{digest}.scope", f"{job.name}-{job.id}", job.image
    cores = machine.cores * 0.3 * scenario.noise.around(f"{job.id}/container", times, 15_000, 0.1)
    memory = 90 * GIB * (0.8 + 0.2 * scenario.noise.smooth(f"{job.id}/memory", times, 600_000))
    one = np.ones(len(times))
    yield gauge("container_last_seen", times / 1000, *which)
    yield gauge("container_start_time_seconds", one * scenario.at(job.begin) / 1000, *which)
    yield rate("container_cpu_usage_seconds_total", cores, *which, "total")
    yield rate("container_cpu_user_seconds_total", cores * 0.9, *which)
    yield rate("container_cpu_system_seconds_total", cores * 0.1, *which)
    yield gauge("container_memory_usage_bytes", np.round(memory), *which)
    yield gauge("container_memory_working_set_bytes", np.round(memory * 0.85), *which)
    yield gauge("container_memory_rss", np.round(memory * 0.7), *which)
    yield gauge("container_memory_cache", np.round(memory * 0.3), *which)
    yield gauge("container_spec_memory_limit_bytes", one * 256 * GIB, *which)
    for way, share in (("receive", 3e7), ("transmit", 2e7)):
        yield rate(f"container_network_{way}_bytes_total", one * share, *which, "eth0")
    yield rate("container_fs_reads_bytes_total", one * 2e7, *which, "/dev/nvme1n1")
    yield rate("container_fs_writes_bytes_total", one * 4e6, *which, "/dev/nvme1n1")
    yield gauge("container_fs_usage_bytes", one * 3 * GIB, *which, "/dev/nvme1n1")
    yield gauge("container_processes", one * 18, *which)
    yield gauge("container_threads", np.round(18 + cores * 4), *which)
    yield rate("container_fs_reads_total", one * 160, *which, "/dev/nvme1n1")
    yield rate("container_fs_writes_total", one * 40, *which, "/dev/nvme1n1")
    for name in ("cpu_cfs_throttled_seconds_total", "memory_failcnt", "oom_events_total"):
        yield rate(f"container_{name}", one * 0, *which)
    for name in ("cpu", "io"):
        yield rate(f"container_pressure_{name}_waiting_seconds_total", one * 0.003, *which)


def genv_columns(
    scenario: Scenario, machine: MachineSpec, readings: Sequence[GpuReadings], times: Times
) -> Iterator[Column]:
    """Yield genv's metrics, on nodes with an environment."""
    here = [one for one in ENVIRONMENTS if one.place.node == machine.name]
    if not here or machine.gpu is None:
        return
    one = np.ones(len(times))
    yield gauge("genv_is_installed", one)
    for gpu, reading in enumerate(readings):
        yield gauge("genv_device_temperature", np.round(reading.temperature), str(gpu))
        yield gauge("genv_device_utilization", np.round(reading.work.busy * 100), str(gpu))
        used = np.round(reading.work.memory * machine.gpu.memory_bytes / 2**20) * 2**20
        yield gauge("genv_device_memory_used_bytes", used, str(gpu))
        yield gauge("genv_device_memory_total_bytes", one * machine.gpu.memory_bytes, str(gpu))
    yield from _environments(scenario, here, times)
    processes = sum((reading.work.process for reading in readings), np.zeros(len(times)))
    yield gauge("genv_processes_total", processes)
    yield from _processes(machine, here, readings)


def _processes(
    machine: MachineSpec, here: Sequence[SimulatedEnvironment], readings: Sequence[GpuReadings]
) -> Iterator[Column]:
    """Yield the processes on the node's GPUs, with their environment."""
    assert machine.gpu is not None
    for gpu, reading in enumerate(readings):
        which = build_pid(gpu), next((one.eid for one in here if gpu in one.place.gpus), "")
        there = (reading.work.process > 0).astype(np.float64)
        used = np.round(reading.work.memory * machine.gpu.memory_bytes)
        yield gauge("genv_process_devices_total", there, *which)._replace(there=there)
        yield gauge("genv_process_used_gpu_memory_bytes", used, *which, str(gpu))._replace(there=there)


def _environments(scenario: Scenario, here: Sequence[SimulatedEnvironment], times: Times) -> Iterator[Column]:
    alive = {one.eid: scenario.during(times, one.since, None).astype(np.float64) for one in here}
    count = sum(alive.values(), np.zeros(len(times)))
    yield gauge("genv_environments_total", count)
    yield gauge("genv_attached_devices_total", count)
    yield gauge("genv_users_total", count)
    for one in here:
        there = alive[one.eid]
        for name in ("environment_processes", "environment_attached_devices"):
            yield gauge(f"genv_{name}_total", there, one.eid)._replace(there=there)
        for name in ("user_environments", "user_processes", "user_attached_devices"):
            yield gauge(f"genv_{name}_total", there, one.user)._replace(there=there)
