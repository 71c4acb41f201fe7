"""A node's state, as the host sources would read it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vigie.simulation.cluster.host_physics import HostPhysics
from vigie.simulation.cluster.machines import GIB, MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import MINUTE, Scenario

BOOTED_BEFORE = 9 * 86_400  # seconds before now
MODES = ("user", "system", "iowait", "idle", "nice", "irq", "softirq", "steal")
DISKS = ("nvme0n1", "nvme1n1")
PAGE = 1500.0  # per packet


def host_columns(
    scenario: Scenario, machine: MachineSpec, state: HostPhysics, times: Times
) -> Iterator[Column]:
    yield from _cores(scenario, machine, state, times)
    yield from _memory(machine, state)
    yield from _disks(state)
    yield from _networks(state)
    yield from _kernel(scenario, machine, state, times)


def _cores(scenario: Scenario, machine: MachineSpec, state: HostPhysics, times: Times) -> Iterator[Column]:
    idle = np.clip(1.0 - state.user - state.system - state.iowait, 0, 1)
    shares = dict(zip(MODES, (state.user, state.system, state.iowait, idle), strict=False))
    nothing = np.zeros(len(times))
    uneven = scenario.noise.each(f"{machine.name}/core", machine.cores, times, MINUTE, 0.1)
    for core in range(machine.cores):
        for mode in MODES:
            share = shares.get(mode, nothing)
            values = np.clip(share * uneven[core], 0, 1) if mode == "user" else share
            yield rate("node_cpu_seconds_total", values, str(core), mode, start=BOOTED_BEFORE * 0.1)


def _memory(machine: MachineSpec, state: HostPhysics) -> Iterator[Column]:
    total = np.full(len(state.user), float(machine.memory_bytes))
    free = np.maximum(total - state.memory_used - state.cached, 0)
    for name, values in (
        ("MemTotal", total),
        ("MemFree", free),
        ("MemAvailable", np.maximum(total - state.memory_used, 0)),
        ("Buffers", total * 0 + GIB),
        ("Cached", state.cached),
        ("AnonPages", state.memory_used * 0.95),
        ("Dirty", state.written * 0.5),
        ("SwapTotal", total * 0),
        ("SwapFree", total * 0),
    ):
        yield gauge(f"node_memory_{name}_bytes", np.round(values / 4096) * 4096)


def _disks(state: HostPhysics) -> Iterator[Column]:
    for number, disk in enumerate(DISKS):
        share = 0.85 if number else 0.15  # the second has the data
        yield rate("node_disk_read_bytes_total", state.read * share, disk)
        yield rate("node_disk_written_bytes_total", state.written * share, disk)
        yield rate("node_disk_reads_completed_total", state.read * share / 131_072, disk)
        yield rate("node_disk_writes_completed_total", state.written * share / 131_072, disk)
        yield rate("node_disk_io_time_seconds_total", state.disk_busy * share, disk)
        yield rate("node_disk_read_time_seconds_total", state.disk_busy * share * 6, disk)
        yield rate("node_disk_write_time_seconds_total", state.disk_busy * share * 2, disk)
        yield gauge("node_disk_io_now", np.round(state.disk_busy * share * 32), disk)
    yield from _mount("/dev/nvme0n1p2", "/", 900 * GIB, 0.31, state)
    yield from _mount("/dev/nvme1n1p1", "/scratch", 14_000 * GIB, 0.58, state)


def _mount(device: str, point: str, size: float, used: float, state: HostPhysics) -> Iterator[Column]:
    one = np.ones(len(state.user))
    labels = device, "xfs" if point != "/" else "ext4", point
    yield gauge("node_filesystem_size_bytes", one * size, *labels)
    yield gauge("node_filesystem_free_bytes", one * size * (1 - used), *labels)
    yield gauge("node_filesystem_avail_bytes", one * size * (1 - used), *labels)
    yield gauge("node_filesystem_readonly", one * 0, *labels)


def _networks(state: HostPhysics) -> Iterator[Column]:
    one = np.ones(len(state.user))
    for way, values in (("receive", state.network), ("transmit", state.network * 0.7)):
        yield rate(f"node_network_{way}_bytes_total", values, "eth0")
        yield rate(f"node_network_{way}_packets_total", values / PAGE, "eth0")
        yield rate(f"node_network_{way}_errs_total", one * 0, "eth0")
        yield rate(f"node_network_{way}_drop_total", one * 0, "eth0")
    yield gauge("node_network_up", one, "eth0")
    yield gauge("node_network_speed_bytes", one * 25e9 / 8, "eth0")


def _kernel(scenario: Scenario, machine: MachineSpec, state: HostPhysics, times: Times) -> Iterator[Column]:
    one = np.ones(len(times))
    load = (state.user + state.system + state.iowait) * machine.cores
    for name in ("node_load1", "node_load5", "node_load15"):
        yield gauge(name, np.round(load, 2))
    yield rate("node_pressure_cpu_waiting_seconds_total", state.cpu_waiting)
    yield rate("node_pressure_io_waiting_seconds_total", state.io_waiting)
    yield rate("node_pressure_io_stalled_seconds_total", state.io_waiting * 0.4)
    yield rate("node_pressure_memory_waiting_seconds_total", state.memory_waiting)
    yield rate("node_pressure_memory_stalled_seconds_total", state.memory_waiting * 0.5)
    yield rate("node_context_switches_total", 4e4 + 2e5 * state.user)
    yield rate("node_intr_total", 3e4 + 1e5 * state.user)
    yield rate("node_forks_total", 3 + 20 * state.user)
    yield gauge("node_procs_running", np.maximum(np.round(load), 1))
    yield gauge("node_procs_blocked", np.round(state.iowait * machine.cores * 0.5))
    yield gauge("node_boot_time_seconds", one * _boot_times(scenario, machine, times))
    yield gauge("node_time_seconds", times / 1000)
    yield gauge("node_vmstat_oom_kill", state.killed)
    yield gauge("node_uname_info", one, *_uname(machine.name))
    yield gauge("node_hwmon_temp_celsius", 38 + 40 * state.user, "pci0000:00_0000:00:18_3", "temp1")


def _boot_times(scenario: Scenario, machine: MachineSpec, times: Times) -> Numbers:
    """Return the boot times: a node that was lost and returned has rebooted."""
    booted = np.full(len(times), scenario.now_ms / 1000 - BOOTED_BEFORE)
    for incident in scenario.incidents_of("lost", node=machine.name):
        if incident.end is not None:
            booted = np.where(
                times >= scenario.at(incident.end), scenario.at(incident.end) / 1000 - 95, booted
            )
    whole: Numbers = np.floor(booted)
    return whole


def _uname(name: str) -> tuple[str, ...]:
    return "Linux", "6.8.0-45-generic", "#45-Ubuntu SMP", "x86_64", name, "(none)"
