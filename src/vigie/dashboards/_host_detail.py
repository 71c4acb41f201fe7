"""Charts of what is seldom looked at: the rest of meminfo, timex, sockets, interfaces, disks and hardware."""

from __future__ import annotations

from vigie.dashboards._build import ANY_BAD, build_multi_panel, build_panel, rate
from vigie.dashboards._choices import ON_HOST
from vigie.dashboards._host import DISKS as REAL_DISKS
from vigie.dashboards._host import REAL, WIRES, meminfo
from vigie.model.dashboard import Panel, PanelQuery

_PROCESSES = "the processes source (`--with-sources processes`)"


def _now(prefix: str, words: dict[str, str]) -> dict[str, str]:
    """Return queries for gauges, by what they are called here."""
    return {legend: f"{prefix}{name}{{{ON_HOST}}}" for legend, name in words.items()}


def _rates(prefix: str, words: dict[str, str], selector: str = ON_HOST) -> dict[str, str]:
    """Return queries for counters, by what they are called here."""
    return {legend: rate(f"{prefix}{name}", selector) for legend, name in words.items()}


CPUS = (
    build_panel(
        "Time slices",
        "Many short ones mean that tasks take the cores from each other.",
        "ops/s",
        f"sum({rate('node_schedstat_timeslices_total', ON_HOST)})",
        "all cores",
        needs="the schedstat source",
        floor=0,
    ),
)
MEMORY = (
    build_multi_panel(
        "Locked in memory",
        "It cannot be taken back: programs lock it, and drivers of GPUs and adapters pin it.",
        "bytes",
        meminfo("Unevictable", "Mlocked"),
        floor=0,
    ),
    build_multi_panel(
        "Huge pages, in bytes",
        "Large pages spare the processor; anonymous ones are given by the kernel on its own.",
        "bytes",
        meminfo("AnonHugePages", "ShmemHugePages", "Hugetlb", "Hugepagesize"),
        needs="a kernel with huge pages",
        floor=0,
    ),
    build_multi_panel(
        "Kernel, for itself",
        "Memory for each core, for modules and for devices that reach only the low addresses.",
        "bytes",
        meminfo("Percpu", "VmallocUsed", "Bounce"),
        floor=0,
    ),
    build_multi_panel(
        "Mapped by the kernel, by size of page",
        "Much in pages of 4k costs every access a little time.",
        "bytes",
        meminfo("DirectMap1G", "DirectMap2M", "DirectMap4k"),
        needs="a processor of x86",
        stack=True,
        floor=0,
    ),
    build_multi_panel(
        "To be written, elsewhere",
        "Sent to a file server and not yet safe there, or on its way through a program (FUSE).",
        "bytes",
        meminfo("NFS_Unstable", "WritebackTmp"),
        needs="a kernel that tells it",
        floor=0,
    ),
    build_panel(
        "Memory put aside as broken",
        "Any at all: a module begins to fail.",
        "bytes",
        f"node_memory_HardwareCorrupted_bytes{{{ON_HOST}}}",
        "broken",
        thresholds=ANY_BAD,
        needs="a kernel that watches for it",
        floor=0,
    ),
    build_multi_panel(
        "Read in and written out",
        "What the kernel moves between memory and disks, files and swap together.",
        "bytes/s",
        {
            way: f"{rate(f'node_vmstat_{name}', ON_HOST)} * 1024"  # these two count kibibytes
            for way, name in (("in", "pgpgin"), ("out", "pgpgout"))
        },
        floor=0,
    ),
)
DISKS = (
    build_multi_panel(
        "Requests in the queue, on average",
        "Above 1 for long, requests wait for each other.",
        "count",
        _rates("node_disk_", {"{{device}}": "io_time_weighted_seconds_total"}, REAL_DISKS),
        floor=0,
    ),
    build_multi_panel(
        "Requests merged",
        "Neighbours made one: much of it is reading or writing in a row.",
        "ops/s",
        _rates(
            "node_disk_",
            {"{{device}} reads": "reads_merged_total", "{{device}} writes": "writes_merged_total"},
            REAL_DISKS,
        ),
        floor=0,
    ),
    build_multi_panel(
        "Discards",
        "Blocks given back to a flash disk; a storm of them slows everything else.",
        "ops/s",
        _rates(
            "node_disk_",
            {"{{device}} done": "discards_completed_total", "{{device}} merged": "discards_merged_total"},
            REAL_DISKS,
        ),
        needs="Linux 4.18 or newer",
        floor=0,
    ),
)
FILES = (
    build_multi_panel(
        "Inodes",
        "How many files there can be, and how many more.",
        "count",
        {
            "{{mountpoint}} there are": f"node_filesystem_files{{{REAL}}}",
            "{{mountpoint}} free": f"node_filesystem_files_free{{{REAL}}}",
        },
        floor=0,
    ),
    build_panel(
        "File systems that do not answer",
        "Each row is one that could not be asked: for NFS its server is gone.",
        "bool",
        f"node_filesystem_device_error{{{REAL}}} == 1",
        "{{mountpoint}}",
        kind="table",
        thresholds=ANY_BAD,
        needs="nothing; empty is good",
    ),
)
NETWORK = (
    build_multi_panel(
        "Rarer errors",
        "Overrun buffers, broken frames, a carrier that comes and goes, collisions.",
        "ops/s",
        _rates(
            "node_network_",
            {
                "{{device}} overrun in": "receive_fifo_total",
                "{{device}} overrun out": "transmit_fifo_total",
                "{{device}} frames in": "receive_frame_total",
                "{{device}} carrier": "transmit_carrier_total",
                "{{device}} collisions": "transmit_colls_total",
            },
            WIRES,
        ),
        floor=0,
    ),
    build_multi_panel(
        "Multicast and compressed packets",
        "Much multicast is discovery or a loop in the network.",
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
        floor=0,
    ),
    Panel(
        "Interfaces, as they are set",
        "Nodes of one kind should be set alike: a smaller MTU on one of them breaks or slows large packets.",
        (
            PanelQuery(f"node_network_mtu_bytes{{{WIRES}}}", "MTU", "bytes"),
            PanelQuery(f"node_network_transmit_queue_length{{{WIRES}}}", "queue", "count"),
            PanelQuery(f"node_network_carrier{{{WIRES}}}", "carrier", "bool"),
        ),
        kind="table",
    ),
    build_panel(
        "Packets taken, by core",
        "One core that takes them all limits the network.",
        "ops/s",
        rate("node_softnet_processed_total", ON_HOST),
        "core {{cpu}}",
        kind="band",
        floor=0,
    ),
)
SOCKETS = (
    build_multi_panel(
        "Sockets, other",
        "Orphans are held by no program any more; fragments wait for their rest.",
        "count",
        _now(
            "node_sockstat_",
            {
                "TCP, allocated": "TCP_alloc",
                "TCP, orphaned": "TCP_orphan",
                "raw": "RAW_inuse",
                "fragments": "FRAG_inuse",
                "UDP-Lite": "UDPLITE_inuse",
            },
        ),
        floor=0,
    ),
    build_multi_panel(
        "Memory of sockets",
        "Buffers that only grow: somebody sends more than is read.",
        "bytes",
        _now("node_sockstat_", {"TCP": "TCP_mem_bytes", "UDP": "UDP_mem_bytes", "fragments": "FRAG_memory"}),
        floor=0,
    ),
    build_multi_panel(
        "IP",
        "All bytes over IPv4, whatever the interface.",
        "bytes/s",
        _rates("node_netstat_", {"in": "IpExt_InOctets", "out": "IpExt_OutOctets"}),
        floor=0,
    ),
    build_multi_panel(
        "SYN cookies",
        "Sent when more connections are asked for than can be taken: a flood, or a slow service.",
        "ops/s",
        _rates(
            "node_netstat_TcpExt_",
            {"sent": "SyncookiesSent", "came back": "SyncookiesRecv", "came back wrong": "SyncookiesFailed"},
        ),
        floor=0,
    ),
    build_multi_panel(
        "UDP, no room",
        "Datagrams that were lost since a buffer was full.",
        "ops/s",
        _rates("node_netstat_Udp_", {"in": "RcvbufErrors", "out": "SndbufErrors"}),
        floor=0,
    ),
)
PROCESSES = (
    build_multi_panel(
        "Processes",
        "Near the limit nothing new can be started.",
        "count",
        _now("node_processes_", {"there are": "pids", "at most": "max_processes"}),
        needs=_PROCESSES,
        floor=0,
    ),
)
CLOCK = (
    Panel(
        "How the clock is steered",
        "Nodes of one kind are alike: one whose frequency is far off has a bad oscillator.",
        (
            PanelQuery(f"node_timex_estimated_error_seconds{{{ON_HOST}}}", "probably off by", "seconds"),
            PanelQuery(
                f"(node_timex_frequency_adjustment_ratio{{{ON_HOST}}} - 1) * 1e6",
                "frequency, off by millionths",
                "count",
            ),
            PanelQuery(f"node_timex_loop_time_constant{{{ON_HOST}}}", "time constant", "count"),
            PanelQuery(f"node_timex_tick_seconds{{{ON_HOST}}}", "tick", "seconds"),
            PanelQuery(f"node_timex_tai_offset_seconds{{{ON_HOST}}}", "TAI is ahead by", "seconds"),
            PanelQuery(f"node_timex_status{{{ON_HOST}}}", "status, as bits", "count"),
        ),
        kind="table",
        wide=True,
    ),
)
HARDWARE = (
    build_panel(
        "Power supplies",
        "No is one without power: the other carries the machine alone.",
        "bool",
        f"node_power_supply_online{{{ON_HOST}}}",
        "{{power_supply}}",
        needs="the powersupplyclass source (a machine that tells it to the kernel)",
        floor=0,
        ceiling=1,
    ),
)
KERNEL = (
    build_panel(
        "Text files that could not be read",
        "Yes means that a script wrote something that is no exposition.",
        "bool",
        f"node_textfile_scrape_error{{{ON_HOST}}}",
        "could not be read",
        thresholds=ANY_BAD,
        needs="the textfile source with a directory",
        floor=0,
        ceiling=1,
    ),
)
