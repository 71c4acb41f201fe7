"""Detail metrics of a node: the rest of meminfo, timex, sockets, interfaces and disks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vigie.simulation.cluster.host_physics import HostPhysics
from vigie.simulation.cluster.machines import GIB, MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.metrics.host import DISKS

# Constant on a healthy node.
STILL = {
    "node_memory_HardwareCorrupted_bytes": 0.0,
    "node_memory_Bounce_bytes": 0.0,
    "node_memory_NFS_Unstable_bytes": 0.0,
    "node_memory_WritebackTmp_bytes": 0.0,
    "node_memory_Hugetlb_bytes": 0.0,
    "node_memory_ShmemHugePages_bytes": 0.0,
    "node_memory_Hugepagesize_bytes": 2.0 * 1024 * 1024,
    "node_memory_VmallocUsed_bytes": 0.4 * GIB,
    "node_memory_Percpu_bytes": 0.1 * GIB,
    "node_memory_DirectMap4k_bytes": 1.0 * GIB,
    "node_memory_DirectMap2M_bytes": 24.0 * GIB,
    "node_sockstat_TCP_orphan": 0.0,
    "node_sockstat_RAW_inuse": 0.0,
    "node_sockstat_FRAG_inuse": 0.0,
    "node_sockstat_FRAG_memory": 0.0,
    "node_sockstat_UDPLITE_inuse": 0.0,
    "node_sockstat_UDP_mem_bytes": 12_288.0,
    "node_processes_max_processes": 4_194_304.0,
    "node_timex_estimated_error_seconds": 2e-6,
    "node_timex_frequency_adjustment_ratio": 1.0000107,
    "node_timex_loop_time_constant": 7.0,
    "node_timex_tick_seconds": 0.01,
    "node_timex_tai_offset_seconds": 37.0,
    "node_timex_status": 8193.0,
}
# Counters that do not increase there.
NEVER = (
    *(f"node_netstat_TcpExt_Syncookies{what}" for what in ("Sent", "Recv", "Failed")),
    *("node_netstat_Udp_RcvbufErrors", "node_netstat_Udp_SndbufErrors"),
)
UNUSED = ("receive_fifo", "transmit_fifo", "receive_frame", "transmit_carrier", "transmit_colls")
COMPRESSED = ("receive_compressed", "transmit_compressed")


def detail_columns(machine: MachineSpec, state: HostPhysics) -> Iterator[Column]:
    one = np.ones(len(state.user))
    for name, value in STILL.items():
        yield gauge(name, one * value)
    for name in NEVER:
        yield rate(name, one * 0)
    yield from _memory(machine, state)
    yield from _network(state)
    yield gauge("node_processes_pids", np.round(900 + 400 * state.user))
    for disk in DISKS:
        yield rate("node_disk_io_time_weighted_seconds_total", state.disk_busy * 4, disk)
        yield rate("node_disk_reads_merged_total", state.read / 2e6, disk)
        yield rate("node_disk_writes_merged_total", state.written / 1e6, disk)
        for what in ("completed", "merged"):
            yield rate(f"node_disk_discards_{what}_total", one * 0, disk)


def _memory(machine: MachineSpec, state: HostPhysics) -> Iterator[Column]:
    for name, values in (
        ("Unevictable", state.memory_used * 0.1),
        ("Mlocked", state.memory_used * 0.1),
        ("AnonHugePages", state.memory_used * 0.4),
        ("DirectMap1G", state.user * 0 + machine.memory_bytes - 25 * GIB),
    ):
        yield gauge(f"node_memory_{name}_bytes", np.round(values / 4096) * 4096)
    yield rate("node_vmstat_pgpgin", state.read / 1024)
    yield rate("node_vmstat_pgpgout", state.written / 1024)


def _network(state: HostPhysics) -> Iterator[Column]:
    one = np.ones(len(state.user))
    for name in (*UNUSED, *COMPRESSED):
        yield rate(f"node_network_{name}_total", one * 0, "eth0")
    yield rate("node_network_receive_multicast_total", one * 0.3, "eth0")
    for name, value in (("mtu_bytes", 9000), ("transmit_queue_length", 1000), ("carrier", 1)):
        yield gauge(f"node_network_{name}", one * value, "eth0")
    yield rate("node_netstat_IpExt_InOctets", state.network)
    yield rate("node_netstat_IpExt_OutOctets", state.network * 0.7)
    yield gauge("node_sockstat_TCP_alloc", np.round(100 + 220 * state.user))
    yield gauge("node_sockstat_TCP_mem_bytes", np.round(20 + 90 * state.user) * 4096)
