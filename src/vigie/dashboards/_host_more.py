"""More charts of a node: cores, memory, disks, file systems, interfaces and hardware."""

from __future__ import annotations

from vigie.dashboards._build import ANY_BAD, RATIO_HIGH, build_multi_panel, build_panel, rate
from vigie.dashboards._choices import ON_HOST
from vigie.dashboards._host import DISKS as REAL_DISKS
from vigie.dashboards._host import REAL, WIRES, meminfo

_RESTING = f'{ON_HOST}, mode=~"idle|iowait"'


def _of_one(way: str) -> str:
    """Return the mean latency of a read or write."""
    time = rate(f"node_disk_{way}_time_seconds_total", REAL_DISKS)
    return f"{time} / ({rate(f'node_disk_{way}s_completed_total', REAL_DISKS)} > 0)"


CPUS = (
    build_panel(
        "CPU busy by core",
        "One core at 100% with the rest idle: a single thread is the limit.",
        "ratio",
        f"1 - sum by (cpu) ({rate('node_cpu_seconds_total', _RESTING)})",
        "core {{cpu}}",
        kind="band",
        ceiling=1,
    ),
    build_panel(
        "Clock by core",
        "Lower than the rest: temperature, power limit or governor.",
        "hertz",
        f"node_cpu_scaling_frequency_hertz{{{ON_HOST}}}",
        "core {{cpu}}",
        kind="band",
        needs="the cpufreq source",
    ),
    build_multi_panel(
        "Load",
        "Running and waiting tasks. Above the number of cores, tasks queue.",
        "count",
        {f"{minutes} min": f"node_load{minutes}{{{ON_HOST}}}" for minutes in (1, 5, 15)},
    ),
    build_multi_panel(
        "Context switches, interrupts and forks",
        "A jump without more load: a busy loop or an interrupt storm.",
        "ops/s",
        {
            "context switches": rate("node_context_switches_total", ON_HOST),
            "interrupts": rate("node_intr_total", ON_HOST),
            "forks": rate("node_forks_total", ON_HOST),
        },
    ),
    build_multi_panel(
        "Run-queue wait",
        "Time runnable tasks waited, by core.",
        "ratio",
        {"core {{cpu}}": rate("node_schedstat_waiting_seconds_total", ON_HOST)},
        kind="band",
        needs="the schedstat source",
    ),
    build_panel(
        "Thermal throttling",
        "Above 0 is a cooling problem.",
        "ops/s",
        rate("node_cpu_package_throttles_total", ON_HOST),
        "package {{package}}",
        needs="thermal_throttle in sysfs (Intel)",
    ),
)
MEMORY = (
    build_multi_panel(
        "Anonymous and file memory",
        "Anonymous memory belongs to programs. The rest can be reclaimed.",
        "bytes",
        meminfo("AnonPages", "Mapped", "Shmem", "Cached", "Buffers"),
        stack=True,
    ),
    build_multi_panel(
        "Active and inactive",
        "Inactive memory is reclaimed first.",
        "bytes",
        meminfo("Active_anon", "Inactive_anon", "Active_file", "Inactive_file"),
        stack=True,
    ),
    build_multi_panel(
        "Kernel",
        "Steady growth of unreclaimable slabs is a kernel leak.",
        "bytes",
        meminfo("SReclaimable", "SUnreclaim", "KernelStack", "PageTables"),
        stack=True,
    ),
    build_multi_panel(
        "Dirty and writeback",
        "A high value means the disk cannot keep up.",
        "bytes",
        meminfo("Dirty", "Writeback"),
    ),
    build_multi_panel(
        "Swap",
        "Any swap use on a compute node is too much.",
        "bytes",
        meminfo("SwapTotal", "SwapFree", "SwapCached"),
    ),
    build_multi_panel(
        "Promised",
        "Committed far above the limit: OOM kills are possible.",
        "bytes",
        meminfo("Committed_AS", "CommitLimit"),
    ),
    build_multi_panel(
        "Huge pages",
        "Reserved and unused huge pages are unavailable to others.",
        "count",
        {
            "total": f"node_memory_HugePages_Total{{{ON_HOST}}}",
            "free": f"node_memory_HugePages_Free{{{ON_HOST}}}",
        },
    ),
    build_multi_panel(
        "Paging",
        "Major faults wait for the disk. Swapping means memory is short.",
        "ops/s",
        {
            "faults": rate("node_vmstat_pgfault", ON_HOST),
            "major faults": rate("node_vmstat_pgmajfault", ON_HOST),
            "swapped in": rate("node_vmstat_pswpin", ON_HOST),
            "swapped out": rate("node_vmstat_pswpout", ON_HOST),
        },
    ),
    build_panel(
        "OOM kills",
        "Each one ended a process.",
        "count",
        f"increase(node_vmstat_oom_kill{{{ON_HOST}}}[1h])",
        "in 1h",
        thresholds=ANY_BAD,
    ),
)
DISKS = (
    build_multi_panel(
        "Reads and writes",
        "Many small requests saturate a disk before its bandwidth.",
        "ops/s",
        {
            "{{device}} reads": rate("node_disk_reads_completed_total", REAL_DISKS),
            "{{device}} writes": rate("node_disk_writes_completed_total", REAL_DISKS),
        },
    ),
    build_panel(
        "Busy",
        "Near 100% requests queue. On NVMe it may mean less.",
        "ratio",
        rate("node_disk_io_time_seconds_total", REAL_DISKS),
        "{{device}}",
        thresholds=RATIO_HIGH,
        ceiling=1,
    ),
    build_multi_panel(
        "Disk latency",
        "Growing latency: overload, or a failing disk.",
        "seconds",
        {
            "{{device}} read": _of_one("read"),
            "{{device}} write": _of_one("write"),
        },
    ),
    build_panel(
        "I/O in flight",
        "Current queue depth.",
        "count",
        f"node_disk_io_now{{{REAL_DISKS}}}",
        "{{device}}",
    ),
)
FILES = (
    build_panel(
        "Free space",
        "Space available for writes.",
        "bytes",
        f"node_filesystem_avail_bytes{{{REAL}}}",
        "{{mountpoint}}",
    ),
    build_panel(
        "Inodes used",
        "Without free inodes no file can be created.",
        "ratio",
        f"1 - node_filesystem_files_free{{{REAL}}} / (node_filesystem_files{{{REAL}}} > 0)",
        "{{mountpoint}}",
        thresholds=RATIO_HIGH,
        ceiling=1,
    ),
    build_panel(
        "Read-only or failing",
        "1: the kernel has given up on the file system.",
        "bool",
        f"node_filesystem_readonly{{{REAL}}}",
        "{{mountpoint}}",
        thresholds=ANY_BAD,
        ceiling=1,
    ),
    build_multi_panel(
        "Open files",
        "At the limit no file can be opened.",
        "count",
        {"open": f"node_filefd_allocated{{{ON_HOST}}}"},
    ),
)
NETWORK = (
    build_multi_panel(
        "Packets",
        "Many small packets cost CPU rather than bandwidth.",
        "ops/s",
        {
            "{{device}} in": rate("node_network_receive_packets_total", WIRES),
            "{{device}} out": rate("node_network_transmit_packets_total", WIRES),
        },
    ),
    build_multi_panel(
        "Errors and drops",
        "A steady rate: cable, duplex mismatch or full queue.",
        "ops/s",
        {
            "{{device}} errors in": rate("node_network_receive_errs_total", WIRES),
            "{{device}} errors out": rate("node_network_transmit_errs_total", WIRES),
            "{{device}} dropped in": rate("node_network_receive_drop_total", WIRES),
            "{{device}} dropped out": rate("node_network_transmit_drop_total", WIRES),
        },
    ),
    build_panel(
        "Interfaces up",
        "0 for an interface in use: check cable and switch.",
        "bool",
        f"node_network_up{{{WIRES}}}",
        "{{device}}",
        ceiling=1,
    ),
    build_panel(
        "Speed",
        "Lower than the port supports: negotiated down.",
        "bits/s",
        f"node_network_speed_bytes{{{WIRES}}} * 8",
        "{{device}}",
        needs="an interface that reports its speed; virtual ones do not",
    ),
    build_multi_panel(
        "Softnet backlog",
        "Squeezed or dropped: cores cannot keep up with the network.",
        "ops/s",
        {
            "dropped": f"sum({rate('node_softnet_dropped_total', ON_HOST)})",
            "squeezed": f"sum({rate('node_softnet_times_squeezed_total', ON_HOST)})",
        },
    ),
    build_panel(
        "Neighbours",
        "Near its limit packets are lost.",
        "count",
        f"node_arp_entries{{{ON_HOST}}}",
        "{{device}}",
    ),
    build_multi_panel(
        "Tracked connections",
        "At the limit new connections are dropped.",
        "count",
        {
            "now": f"node_nf_conntrack_entries{{{ON_HOST}}}",
            "maximum": f"node_nf_conntrack_entries_limit{{{ON_HOST}}}",
        },
        needs="the conntrack source (connection tracking)",
    ),
)
HARDWARE = (
    build_panel(
        "Thermal zones",
        "Above its trip point the kernel throttles the machine.",
        "celsius",
        f"node_thermal_zone_temp{{{ON_HOST}}}",
        "{{type}} {{zone}}",
        needs="the thermal_zone source",
        floor=None,
    ),
    build_panel(
        "Active cooling",
        "Above 0 the kernel throttles a device or runs a fan.",
        "ratio",
        f"(node_cooling_device_cur_state{{{ON_HOST}}} >= 0)"
        f" / (node_cooling_device_max_state{{{ON_HOST}}} > 0)",
        "{{type}} {{name}}",
        needs="the thermal_zone source",
    ),
    build_panel(
        "Fans",
        "A fan at 0 or far below the others is broken.",
        "rpm",
        f"node_hwmon_fan_rpm{{{ON_HOST}}}",
        "{{chip}} {{sensor}}",
        needs="the hwmon source (a board with fans)",
    ),
    build_panel(
        "Corrected memory errors",
        "Replace a module with a growing count before it fails.",
        "count",
        f"increase(node_edac_correctable_errors_total{{{ON_HOST}}}[1h])",
        "controller {{controller}}",
        needs="the edac source (ECC memory)",
    ),
    build_panel(
        "Uncorrectable memory errors",
        "Each one crashed a process or corrupted data.",
        "count",
        f"increase(node_edac_uncorrectable_errors_total{{{ON_HOST}}}[1h])",
        "controller {{controller}}",
        thresholds=ANY_BAD,
        needs="the edac source (ECC memory)",
    ),
    build_panel(
        "Missing RAID disks",
        "The array is one failure from data loss.",
        "count",
        f"node_md_degraded{{{ON_HOST}}}",
        "{{device}}",
        thresholds=ANY_BAD,
        needs="the mdadm source (software RAID)",
    ),
)
