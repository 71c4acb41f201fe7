"""More charts of a node: cores, memory in detail, disks, file systems, interfaces and hardware."""

from __future__ import annotations

from vigie.dashboards._build import ANY_BAD, RATIO_HIGH, build_multi_panel, build_panel, rate
from vigie.dashboards._choices import ON_HOST
from vigie.dashboards._host import DISKS as REAL_DISKS
from vigie.dashboards._host import REAL, WIRES, meminfo

_RESTING = f'{ON_HOST}, mode=~"idle|iowait"'


def _of_one(way: str) -> str:
    """Return the mean time of a read or a write."""
    time = rate(f"node_disk_{way}_time_seconds_total", REAL_DISKS)
    return f"{time} / ({rate(f'node_disk_{way}s_completed_total', REAL_DISKS)} > 0)"


CPUS = (
    build_panel(
        "Busy, by core",
        "One core at 100% with the rest idle is a single thread that limits all.",
        "ratio",
        f"1 - sum by (cpu) ({rate('node_cpu_seconds_total', _RESTING)})",
        "core {{cpu}}",
        kind="band",
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Clock, by core",
        "Lower than the rest is heat, power or a governor that saves.",
        "hertz",
        f"node_cpu_scaling_frequency_hertz{{{ON_HOST}}}",
        "core {{cpu}}",
        kind="band",
        needs="the cpufreq source",
        floor=0,
    ),
    build_multi_panel(
        "Load",
        "Tasks that run or wait: above the number of cores they queue.",
        "count",
        {f"{minutes} min": f"node_load{minutes}{{{ON_HOST}}}" for minutes in (1, 5, 15)},
        floor=0,
    ),
    build_multi_panel(
        "Switches, interrupts and forks",
        "A jump without more work is something that spins or a storm of a device.",
        "ops/s",
        {
            "context switches": rate("node_context_switches_total", ON_HOST),
            "interrupts": rate("node_intr_total", ON_HOST),
            "forks": rate("node_forks_total", ON_HOST),
        },
        floor=0,
    ),
    build_multi_panel(
        "Waiting for a core",
        "How long tasks that could run waited, by core: the scheduler's own view of crowding.",
        "ratio",
        {"core {{cpu}}": rate("node_schedstat_waiting_seconds_total", ON_HOST)},
        kind="band",
        needs="the schedstat source",
        floor=0,
    ),
    build_panel(
        "Slowed down by heat",
        "Any count is a cooling problem.",
        "ops/s",
        rate("node_cpu_package_throttles_total", ON_HOST),
        "package {{package}}",
        needs="thermal_throttle in sysfs (Intel)",
        floor=0,
    ),
)
MEMORY = (
    build_multi_panel(
        "Programs and files",
        "Anonymous memory is the programs'; the rest can be given back.",
        "bytes",
        meminfo("AnonPages", "Mapped", "Shmem", "Cached", "Buffers"),
        stack=True,
        floor=0,
    ),
    build_multi_panel(
        "Active and inactive",
        "Inactive memory goes first when there is need.",
        "bytes",
        meminfo("Active_anon", "Inactive_anon", "Active_file", "Inactive_file"),
        stack=True,
        floor=0,
    ),
    build_multi_panel(
        "Kernel",
        "Slabs that cannot be reclaimed and only grow are a leak in the kernel.",
        "bytes",
        meminfo("SReclaimable", "SUnreclaim", "KernelStack", "PageTables"),
        stack=True,
        floor=0,
    ),
    build_multi_panel(
        "To be written",
        "Much that waits means that the disk cannot keep up.",
        "bytes",
        meminfo("Dirty", "Writeback"),
        floor=0,
    ),
    build_multi_panel(
        "Swap",
        "Swap in use on a node that computes is too much.",
        "bytes",
        meminfo("SwapTotal", "SwapFree", "SwapCached"),
        floor=0,
    ),
    build_multi_panel(
        "Promised",
        "Promised far above the limit: programs may be killed when they use it.",
        "bytes",
        meminfo("Committed_AS", "CommitLimit"),
        floor=0,
    ),
    build_multi_panel(
        "Huge pages",
        "Reserved and unused ones are lost to everybody else.",
        "count",
        {
            "there are": f"node_memory_HugePages_Total{{{ON_HOST}}}",
            "free": f"node_memory_HugePages_Free{{{ON_HOST}}}",
        },
        floor=0,
    ),
    build_multi_panel(
        "Paging",
        "Major faults wait for the disk; swapping in and out is trouble.",
        "ops/s",
        {
            "faults": rate("node_vmstat_pgfault", ON_HOST),
            "major faults": rate("node_vmstat_pgmajfault", ON_HOST),
            "swapped in": rate("node_vmstat_pswpin", ON_HOST),
            "swapped out": rate("node_vmstat_pswpout", ON_HOST),
        },
        floor=0,
    ),
    build_panel(
        "Killed for want of memory",
        "Each one was a program that somebody misses.",
        "count",
        f"increase(node_vmstat_oom_kill{{{ON_HOST}}}[1h])",
        "in an hour",
        thresholds=ANY_BAD,
        floor=0,
    ),
)
DISKS = (
    build_multi_panel(
        "Reads and writes",
        "Many small ones tire a disk long before its bandwidth.",
        "ops/s",
        {
            "{{device}} reads": rate("node_disk_reads_completed_total", REAL_DISKS),
            "{{device}} writes": rate("node_disk_writes_completed_total", REAL_DISKS),
        },
        floor=0,
    ),
    build_panel(
        "Busy",
        "Near 100% requests queue; on NVMe it may mean less.",
        "ratio",
        rate("node_disk_io_time_seconds_total", REAL_DISKS),
        "{{device}}",
        thresholds=RATIO_HIGH,
        floor=0,
        ceiling=1,
    ),
    build_multi_panel(
        "Time of a request",
        "A disk whose requests take ever longer is overloaded or about to fail.",
        "seconds",
        {
            "{{device}} read": _of_one("read"),
            "{{device}} write": _of_one("write"),
        },
        floor=0,
    ),
    build_panel(
        "Requests under way",
        "How deep the queue is at this moment.",
        "count",
        f"node_disk_io_now{{{REAL_DISKS}}}",
        "{{device}}",
        floor=0,
    ),
)
FILES = (
    build_panel(
        "Space left",
        "How much can still be written.",
        "bytes",
        f"node_filesystem_avail_bytes{{{REAL}}}",
        "{{mountpoint}}",
        floor=0,
    ),
    build_panel(
        "Inodes used",
        "Without inodes no file can be made, however much space is left.",
        "ratio",
        f"1 - node_filesystem_files_free{{{REAL}}} / (node_filesystem_files{{{REAL}}} > 0)",
        "{{mountpoint}}",
        thresholds=RATIO_HIGH,
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Read-only or out of reach",
        "1 is a file system that the kernel gave up on.",
        "bool",
        f"node_filesystem_readonly{{{REAL}}}",
        "{{mountpoint}}",
        thresholds=ANY_BAD,
        floor=0,
        ceiling=1,
    ),
    build_multi_panel(
        "Open files",
        "Near the limit the kernel refuses to open more.",
        "count",
        {"open": f"node_filefd_allocated{{{ON_HOST}}}"},
        floor=0,
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
        floor=0,
    ),
    build_multi_panel(
        "Errors and drops",
        "Any steady rate is a cable, a duplex mismatch or a full queue.",
        "ops/s",
        {
            "{{device}} errors in": rate("node_network_receive_errs_total", WIRES),
            "{{device}} errors out": rate("node_network_transmit_errs_total", WIRES),
            "{{device}} dropped in": rate("node_network_receive_drop_total", WIRES),
            "{{device}} dropped out": rate("node_network_transmit_drop_total", WIRES),
        },
        floor=0,
    ),
    build_panel(
        "Interfaces up",
        "0 for an interface that should be up is a cable or a switch.",
        "bool",
        f"node_network_up{{{WIRES}}}",
        "{{device}}",
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Speed",
        "Lower than the port's own means that it was negotiated down.",
        "bits/s",
        f"node_network_speed_bytes{{{WIRES}}} * 8",
        "{{device}}",
        needs="an interface that tells its speed, which virtual ones do not",
        floor=0,
    ),
    build_multi_panel(
        "Backlog of packets",
        "Squeezed or dropped: the cores cannot keep up with the network.",
        "ops/s",
        {
            "dropped": f"sum({rate('node_softnet_dropped_total', ON_HOST)})",
            "squeezed": f"sum({rate('node_softnet_times_squeezed_total', ON_HOST)})",
        },
        floor=0,
    ),
    build_panel(
        "Neighbours",
        "A table that grows towards its limit loses packets.",
        "count",
        f"node_arp_entries{{{ON_HOST}}}",
        "{{device}}",
        floor=0,
    ),
    build_multi_panel(
        "Connections tracked",
        "At the limit new connections are refused.",
        "count",
        {
            "now": f"node_nf_conntrack_entries{{{ON_HOST}}}",
            "at most": f"node_nf_conntrack_entries_limit{{{ON_HOST}}}",
        },
        needs="the conntrack source (a firewall that tracks)",
        floor=0,
    ),
)
HARDWARE = (
    build_panel(
        "Thermal zones",
        "Beyond its trip point the kernel slows the machine down.",
        "celsius",
        f"node_thermal_zone_temp{{{ON_HOST}}}",
        "{{type}} {{zone}}",
        needs="the thermal_zone source",
    ),
    build_panel(
        "Cooling in use",
        "Above 0 the kernel holds something back, or drives a fan, to cool the machine.",
        "ratio",
        f"(node_cooling_device_cur_state{{{ON_HOST}}} >= 0)"
        f" / (node_cooling_device_max_state{{{ON_HOST}}} > 0)",
        "{{type}} {{name}}",
        needs="the thermal_zone source",
        floor=0,
    ),
    build_panel(
        "Fans",
        "A fan at 0 or far below its siblings is broken.",
        "rpm",
        f"node_hwmon_fan_rpm{{{ON_HOST}}}",
        "{{chip}} {{sensor}}",
        needs="the hwmon source (a board with fans)",
        floor=0,
    ),
    build_panel(
        "Memory errors corrected",
        "A module that collects them should be replaced before it fails.",
        "count",
        f"increase(node_edac_correctable_errors_total{{{ON_HOST}}}[1h])",
        "controller {{controller}}",
        needs="the edac source (ECC memory)",
        floor=0,
    ),
    build_panel(
        "Memory errors uncorrected",
        "Each one has crashed or spoilt something.",
        "count",
        f"increase(node_edac_uncorrectable_errors_total{{{ON_HOST}}}[1h])",
        "controller {{controller}}",
        thresholds=ANY_BAD,
        needs="the edac source (ECC memory)",
        floor=0,
    ),
    build_panel(
        "Disks that arrays are short of",
        "A RAID without its spare is one failure from loss.",
        "count",
        f"node_md_degraded{{{ON_HOST}}}",
        "{{device}}",
        thresholds=ANY_BAD,
        needs="the mdadm source (software RAID)",
        floor=0,
    ),
)
