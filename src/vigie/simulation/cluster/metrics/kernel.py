"""Kernel and board metrics of a node: protocols, pages, clocks, sensors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vigie.simulation.cluster.host_physics import HostPhysics
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.metrics.host_detail import detail_columns
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import MINUTE, Scenario

CLOCK, IDLE_CLOCK = 3.4e9, 1.5e9  # of a core
PACKAGES = ("0", "1")
SERVING_CORES = 4  # that handle network interrupts
SEGMENT = 9000.0  # bytes


def kernel_columns(
    scenario: Scenario, machine: MachineSpec, state: HostPhysics, times: Times
) -> Iterator[Column]:
    yield from _cores(scenario, machine, state, times)
    yield from _pages(machine, state)
    yield from _files(state)
    yield from _protocols(state)
    yield from _tasks(machine, state)
    yield from _clock(scenario, machine, times)
    yield from _board(machine, state)
    yield from detail_columns(machine, state)


def _cores(scenario: Scenario, machine: MachineSpec, state: HostPhysics, times: Times) -> Iterator[Column]:
    clock = IDLE_CLOCK + (CLOCK - IDLE_CLOCK) * np.clip(state.user * 3, 0, 1)
    uneven = scenario.noise.each(f"{machine.name}/clock", machine.cores, times, MINUTE, 0.02)
    for core in range(machine.cores):
        name = str(core)
        values = np.round(np.clip(clock * uneven[core], IDLE_CLOCK, CLOCK) / 1e3) * 1e3
        yield gauge("node_cpu_scaling_frequency_hertz", values, name)
        yield rate("node_schedstat_waiting_seconds_total", state.cpu_waiting + 0.002 * state.user, name)
        yield rate("node_schedstat_timeslices_total", 40 + 900 * state.user, name)
        if core < SERVING_CORES:
            yield rate("node_softnet_processed_total", state.network / SEGMENT / SERVING_CORES, name)
            yield rate("node_softnet_dropped_total", state.network * 0, name)
            yield rate("node_softnet_times_squeezed_total", state.network * 1e-9, name)
    for package in PACKAGES:
        yield rate("node_cpu_package_throttles_total", state.user * 0, package)


def _pages(machine: MachineSpec, state: HostPhysics) -> Iterator[Column]:
    total, used, cached = (
        np.full(len(state.user), float(machine.memory_bytes)),
        state.memory_used,
        state.cached,
    )
    shares = {
        "Mapped": cached * 0.1,
        "Shmem": used * 0.05,
        "Active_anon": used * 0.7,
        "Inactive_anon": used * 0.25,
        "Active_file": cached * 0.6,
        "Inactive_file": cached * 0.4,
        "SReclaimable": cached * 0.03,
        "SUnreclaim": total * 0.002,
        "KernelStack": total * 2e-5,
        "PageTables": used * 0.002,
        "Writeback": state.written * 0.02,
        "SwapCached": total * 0,
        "Committed_AS": used * 1.3,
        "CommitLimit": total * 0.5,
    }
    for name, values in shares.items():
        yield gauge(f"node_memory_{name}_bytes", np.round(values / 4096) * 4096)
    for name in ("HugePages_Total", "HugePages_Free"):
        yield gauge(f"node_memory_{name}", total * 0)
    yield rate("node_vmstat_pgfault", 2e3 + 3e4 * state.user)
    yield rate("node_vmstat_pgmajfault", 0.2 + 40 * state.memory_waiting)
    yield rate("node_vmstat_pswpin", total * 0)
    yield rate("node_vmstat_pswpout", total * 0)


def _files(state: HostPhysics) -> Iterator[Column]:
    one = np.ones(len(state.user))
    for device, kind, point, inodes in (
        ("/dev/nvme0n1p2", "ext4", "/", 58_982_400.0),
        ("/dev/nvme1n1p1", "xfs", "/scratch", 1_464_851_456.0),
    ):
        yield gauge("node_filesystem_files", one * inodes, device, kind, point)
        yield gauge("node_filesystem_files_free", one * inodes * 0.97, device, kind, point)
    yield gauge("node_filefd_allocated", np.round(4_000 + 9_000 * state.user))
    yield gauge("node_entropy_available_bits", one * 256)


def _protocols(state: HostPhysics) -> Iterator[Column]:
    one, segments = np.ones(len(state.user)), state.network / SEGMENT
    for name, values in (
        ("Tcp_ActiveOpens", one * 2),
        ("Tcp_PassiveOpens", one * 1.5),
        ("Tcp_InSegs", segments),
        ("Tcp_OutSegs", segments * 0.7),
        ("Tcp_RetransSegs", segments * 1e-5),
        ("Tcp_InErrs", one * 0),
        ("Tcp_OutRsts", one * 0.1),
        ("TcpExt_ListenOverflows", one * 0),
        ("TcpExt_ListenDrops", one * 0),
        ("Udp_InDatagrams", one * 12),
        ("Udp_OutDatagrams", one * 9),
        ("Udp_InErrors", one * 0),
        ("Udp_NoPorts", one * 0.01),
        ("Icmp_InMsgs", one * 0.05),
        ("Icmp_OutMsgs", one * 0.05),
        ("Icmp_InErrors", one * 0),
    ):
        yield rate(f"node_netstat_{name}", values)
    yield gauge("node_netstat_Tcp_CurrEstab", np.round(60 + 200 * state.user))
    for name, values in (
        ("sockets_used", 900 + 300 * state.user),
        ("TCP_inuse", 90 + 200 * state.user),
        ("TCP_tw", one * 14),
        ("UDP_inuse", one * 11),
    ):
        yield gauge(f"node_sockstat_{name}", np.round(values))
    for name, count in (("established", 60.0), ("listen", 19.0), ("time_wait", 14.0)):
        yield gauge("node_tcp_connection_states", one * count, name)
    yield gauge("node_arp_entries", one * 23, "eth0")
    yield gauge("node_nf_conntrack_entries", np.round(150 + 250 * state.user))
    yield gauge("node_nf_conntrack_entries_limit", one * 262_144)


def _tasks(machine: MachineSpec, state: HostPhysics) -> Iterator[Column]:
    one = np.ones(len(state.user))
    running = np.maximum(np.round((state.user + state.system) * machine.cores), 1)
    blocked = np.round(state.iowait * machine.cores * 0.5)
    for name, values in (("R", running), ("S", 700 * one), ("D", blocked), ("I", 380 * one), ("Z", 0 * one)):
        yield gauge("node_processes_state", values, name)
    yield gauge("node_processes_threads", np.round(1_800 + 3_000 * state.user))
    yield gauge("node_processes_max_threads", one * 4_194_304)
    yield rate("node_kernel_hung_tasks_total", one * 0)


def _clock(scenario: Scenario, machine: MachineSpec, times: Times) -> Iterator[Column]:
    one = np.ones(len(times))
    off: Numbers = 2e-5 * (scenario.noise.smooth(f"{machine.name}/time", times, 10 * MINUTE) - 0.5)
    yield gauge("node_timex_sync_status", one)
    yield gauge("node_timex_offset_seconds", np.round(off, 9))
    yield gauge("node_timex_maxerror_seconds", one * 0.004)


def _board(machine: MachineSpec, state: HostPhysics) -> Iterator[Column]:
    one = np.ones(len(state.user))
    for package in PACKAGES:
        path = f"/sys/class/powercap/intel-rapl:{package}"
        yield rate("node_rapl_package_joules_total", 95 + 190 * state.user, package, path)
        yield gauge("node_thermal_zone_temp", np.round(36 + 42 * state.user), package, "x86_pkg_temp")
        yield gauge("node_cooling_device_cur_state", one * 0, package, "Processor")
        yield gauge("node_cooling_device_max_state", one * 10, package, "Processor")
    for fan in ("fan1", "fan2"):
        yield gauge("node_hwmon_fan_rpm", np.round(5_400 + 6_000 * state.user, -1), "platform_bmc_hwmon", fan)
    for controller in ("0", "1"):
        yield rate("node_edac_correctable_errors_total", one * 0, controller)
        yield rate("node_edac_uncorrectable_errors_total", one * 0, controller)
    if machine.gpu is None:
        yield gauge("node_md_degraded", one * 0, "md0")
