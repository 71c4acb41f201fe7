"""Detail charts: the rest of meminfo, timex, sockets, interfaces, disks and hardware."""

from __future__ import annotations

from vigie.dashboards._build import ANY_BAD, build_multi_panel, build_panel, rate
from vigie.dashboards._choices import ON_HOST
from vigie.dashboards._host import DISKS as REAL_DISKS
from vigie.dashboards._host import REAL, WIRES, meminfo
from vigie.model.dashboard import Panel, PanelQuery

_PROCESSES = "the processes source (`--with-sources processes`)"


def _now(prefix: str, words: dict[str, str]) -> dict[str, str]:
    """Return queries for gauges, by legend."""
    return {legend: f"{prefix}{name}{{{ON_HOST}}}" for legend, name in words.items()}


def _rates(prefix: str, words: dict[str, str], selector: str = ON_HOST) -> dict[str, str]:
    """Return queries for counters, by legend."""
    return {legend: rate(f"{prefix}{name}", selector) for legend, name in words.items()}


CPUS = (
    build_panel(
        "Time slices",
        "Many short slices: tasks compete for cores.",
        "ops/s",
        f"sum({rate('node_schedstat_timeslices_total', ON_HOST)})",
        "all cores",
        needs="the schedstat source",
    ),
)
MEMORY = (
    build_multi_panel(
        "Locked memory",
        "Cannot be reclaimed: locked by programs, or pinned by GPU and network drivers.",
        "bytes",
        meminfo("Unevictable", "Mlocked"),
    ),
    build_multi_panel(
        "Huge pages in bytes",
        "Huge pages save CPU time. Anonymous ones are assigned by the kernel.",
        "bytes",
        meminfo("AnonHugePages", "ShmemHugePages", "Hugetlb", "Hugepagesize"),
        needs="a kernel with huge pages",
    ),
    build_multi_panel(
        "Kernel allocations",
        "Per-CPU memory, vmalloc, and bounce buffers.",
        "bytes",
        meminfo("Percpu", "VmallocUsed", "Bounce"),
    ),
    build_multi_panel(
        "Kernel mapping by page size",
        "Many 4k pages slow down every access.",
        "bytes",
        meminfo("DirectMap1G", "DirectMap2M", "DirectMap4k"),
        needs="an x86 CPU",
        stack=True,
    ),
    build_multi_panel(
        "NFS and FUSE writeback",
        "Sent to a file server and not yet committed, or on its way through FUSE.",
        "bytes",
        meminfo("NFS_Unstable", "WritebackTmp"),
        needs="a kernel that reports it",
    ),
    build_panel(
        "Hardware-corrupted memory",
        "Above 0: a module starts to fail.",
        "bytes",
        f"node_memory_HardwareCorrupted_bytes{{{ON_HOST}}}",
        "broken",
        thresholds=ANY_BAD,
        needs="a kernel with memory failure handling",
    ),
    build_multi_panel(
        "Page in and out",
        "Traffic between memory and disks, files and swap together.",
        "bytes/s",
        {
            way: f"{rate(f'node_vmstat_{name}', ON_HOST)} * 1024"  # in KiB
            for way, name in (("in", "pgpgin"), ("out", "pgpgout"))
        },
    ),
)
DISKS = (
    build_multi_panel(
        "Average queue length",
        "Above 1 for long: requests wait for each other.",
        "count",
        _rates("node_disk_", {"{{device}}": "io_time_weighted_seconds_total"}, REAL_DISKS),
    ),
    build_multi_panel(
        "Merged requests",
        "Many merges: sequential reads or writes.",
        "ops/s",
        _rates(
            "node_disk_",
            {"{{device}} reads": "reads_merged_total", "{{device}} writes": "writes_merged_total"},
            REAL_DISKS,
        ),
    ),
    build_multi_panel(
        "Discards",
        "TRIM requests to an SSD. Bursts slow down other I/O.",
        "ops/s",
        _rates(
            "node_disk_",
            {
                "{{device}} completed": "discards_completed_total",
                "{{device}} merged": "discards_merged_total",
            },
            REAL_DISKS,
        ),
        needs="Linux 4.18 or newer",
    ),
)
FILES = (
    build_multi_panel(
        "Inodes",
        "Total and free inodes.",
        "count",
        {
            "{{mountpoint}} total": f"node_filesystem_files{{{REAL}}}",
            "{{mountpoint}} free": f"node_filesystem_files_free{{{REAL}}}",
        },
    ),
    build_panel(
        "Unresponsive mounts",
        "Mounts that do not respond. For NFS the server may be down.",
        "bool",
        f"node_filesystem_device_error{{{REAL}}} == 1",
        "{{mountpoint}}",
        kind="table",
        thresholds=ANY_BAD,
        needs="none; empty is good",
    ),
)
NETWORK = (
    build_multi_panel(
        "Other network errors",
        "FIFO overruns, frame errors, carrier losses, collisions.",
        "ops/s",
        _rates(
            "node_network_",
            {
                "{{device}} FIFO in": "receive_fifo_total",
                "{{device}} FIFO out": "transmit_fifo_total",
                "{{device}} frame in": "receive_frame_total",
                "{{device}} carrier": "transmit_carrier_total",
                "{{device}} collisions": "transmit_colls_total",
            },
            WIRES,
        ),
    ),
    build_multi_panel(
        "Multicast and compressed packets",
        "High multicast: discovery, or a loop in the network.",
        "ops/s",
        _rates(
            "node_network_",
            {
                "{{device}} multicast in": "receive_multicast_total",
                "{{device}} compressed in": "receive_compressed_total",
                "{{device}} compressed out": "transmit_compressed_total",
            },
            WIRES,
        ),
    ),
    Panel(
        "Interface settings",
        "Nodes of one kind should match. A smaller MTU breaks or slows large packets.",
        (
            PanelQuery(f"node_network_mtu_bytes{{{WIRES}}}", "MTU", "bytes"),
            PanelQuery(f"node_network_transmit_queue_length{{{WIRES}}}", "queue", "count"),
            PanelQuery(f"node_network_carrier{{{WIRES}}}", "carrier", "bool"),
        ),
        kind="table",
    ),
    build_panel(
        "Packets processed by core",
        "One core that processes all packets limits the network.",
        "ops/s",
        rate("node_softnet_processed_total", ON_HOST),
        "core {{cpu}}",
        kind="band",
    ),
)
SOCKETS = (
    build_multi_panel(
        "Other sockets",
        "Orphans belong to no process. Fragments wait for reassembly.",
        "count",
        _now(
            "node_sockstat_",
            {
                "TCP allocated": "TCP_alloc",
                "TCP orphaned": "TCP_orphan",
                "raw": "RAW_inuse",
                "fragments": "FRAG_inuse",
                "UDP-Lite": "UDPLITE_inuse",
            },
        ),
    ),
    build_multi_panel(
        "Socket memory",
        "Steady growth: data is sent faster than read.",
        "bytes",
        _now("node_sockstat_", {"TCP": "TCP_mem_bytes", "UDP": "UDP_mem_bytes", "fragments": "FRAG_memory"}),
    ),
    build_multi_panel(
        "IP",
        "All IPv4 bytes, of all interfaces.",
        "bytes/s",
        _rates("node_netstat_", {"in": "IpExt_InOctets", "out": "IpExt_OutOctets"}),
    ),
    build_multi_panel(
        "SYN cookies",
        "Sent when the SYN queue overflows: a flood, or a slow service.",
        "ops/s",
        _rates(
            "node_netstat_TcpExt_",
            {"sent": "SyncookiesSent", "valid": "SyncookiesRecv", "invalid": "SyncookiesFailed"},
        ),
    ),
    build_multi_panel(
        "UDP buffer errors",
        "Datagrams dropped because a buffer was full.",
        "ops/s",
        _rates("node_netstat_Udp_", {"in": "RcvbufErrors", "out": "SndbufErrors"}),
    ),
)
PROCESSES = (
    build_multi_panel(
        "Processes",
        "At the limit no process can start.",
        "count",
        _now("node_processes_", {"current": "pids", "maximum": "max_processes"}),
        needs=_PROCESSES,
    ),
)
CLOCK = (
    Panel(
        "Clock discipline",
        "Nodes of one kind are similar. A frequency far off means a bad oscillator.",
        (
            PanelQuery(f"node_timex_estimated_error_seconds{{{ON_HOST}}}", "estimated error", "seconds"),
            PanelQuery(
                f"(node_timex_frequency_adjustment_ratio{{{ON_HOST}}} - 1) * 1e6",
                "frequency offset, ppm",
                "count",
            ),
            PanelQuery(f"node_timex_loop_time_constant{{{ON_HOST}}}", "time constant", "count"),
            PanelQuery(f"node_timex_tick_seconds{{{ON_HOST}}}", "tick", "seconds"),
            PanelQuery(f"node_timex_tai_offset_seconds{{{ON_HOST}}}", "TAI offset", "seconds"),
            PanelQuery(f"node_timex_status{{{ON_HOST}}}", "status bits", "count"),
        ),
        kind="table",
        wide=True,
    ),
)
HARDWARE = (
    build_panel(
        "Power supplies",
        "No: a supply without power. There is no redundancy.",
        "bool",
        f"node_power_supply_online{{{ON_HOST}}}",
        "{{power_supply}}",
        needs="the powersupplyclass source",
        ceiling=1,
    ),
)
KERNEL = (
    build_panel(
        "Text file errors",
        "Yes: a script wrote an invalid exposition.",
        "bool",
        f"node_textfile_scrape_error{{{ON_HOST}}}",
        "error",
        thresholds=ANY_BAD,
        needs="the textfile source with a directory",
        ceiling=1,
    ),
)
