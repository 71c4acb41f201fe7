"""The metrics of containers, under cAdvisor's names and labels, by the figures that they come from."""

from __future__ import annotations

from vigie.model import Metric, counter, gauge

WHICH = ("id", "name", "image")  # the cgroup's path; name and image are empty for one that is no container
LAST_SEEN = gauge("container_last_seen", "When the container was last seen, as a Unix time.", *WHICH)
START_TIME = gauge("container_start_time_seconds", "When the container began, as a Unix time.", *WHICH)
PROCESSES = gauge("container_processes", "Processes in the container.", *WHICH)
CPU = counter("container_cpu_usage_seconds_total", "CPU time of all CPUs.", *WHICH, "cpu")
WORKING_SET = gauge(
    "container_memory_working_set_bytes", "Memory in use, less page cache not used of late.", *WHICH
)
FAILURES = counter("container_memory_failures_total", "Page faults by type.", *WHICH, "failure_type", "scope")

FIGURES: tuple[tuple[str, Metric], ...] = (
    ("cpu_user", counter("container_cpu_user_seconds_total", "CPU time in user mode.", *WHICH)),
    ("cpu_system", counter("container_cpu_system_seconds_total", "CPU time in the kernel.", *WHICH)),
    (
        "periods",
        counter("container_cpu_cfs_periods_total", "Periods of the CPU quota that have passed.", *WHICH),
    ),
    (
        "throttled_periods",
        counter(
            "container_cpu_cfs_throttled_periods_total", "Periods in which the quota was used up.", *WHICH
        ),
    ),
    (
        "throttled",
        counter("container_cpu_cfs_throttled_seconds_total", "Time in which the quota was used up.", *WHICH),
    ),
    ("memory", gauge("container_memory_usage_bytes", "Memory in use, page cache included.", *WHICH)),
    ("rss", gauge("container_memory_rss", "Anonymous memory in bytes.", *WHICH)),
    ("cache", gauge("container_memory_cache", "Page cache in bytes.", *WHICH)),
    ("mapped", gauge("container_memory_mapped_file", "Mapped files in bytes.", *WHICH)),
    ("swap", gauge("container_memory_swap", "Swap in use in bytes.", *WHICH)),
    (
        "kernel",
        gauge("container_memory_kernel_usage", "Memory that the kernel uses for it, in bytes.", *WHICH),
    ),
    (
        "active_file",
        gauge("container_memory_total_active_file_bytes", "Page cache that was used of late.", *WHICH),
    ),
    (
        "inactive_file",
        gauge("container_memory_total_inactive_file_bytes", "Page cache that was not used of late.", *WHICH),
    ),
    ("memory_peak", gauge("container_memory_max_usage_bytes", "Highest memory use so far.", *WHICH)),
    ("memory_hits", counter("container_memory_failcnt", "Times the memory limit was hit.", *WHICH)),
    ("oom_kills", counter("container_oom_events_total", "Processes killed because memory ran out.", *WHICH)),
    ("threads", gauge("container_threads", "Threads in the container.", *WHICH)),
    ("threads_limit", gauge("container_threads_max", "Limit of threads; 0 is none.", *WHICH)),
    ("quota", gauge("container_spec_cpu_quota", "CPU quota per period, in microseconds.", *WHICH)),
    ("period", gauge("container_spec_cpu_period", "Period of the CPU quota, in microseconds.", *WHICH)),
    ("shares", gauge("container_spec_cpu_shares", "Share of the CPU under contention.", *WHICH)),
    ("memory_limit", gauge("container_spec_memory_limit_bytes", "Memory limit; 0 is none.", *WHICH)),
    ("swap_limit", gauge("container_spec_memory_swap_limit_bytes", "Swap limit; 0 is none.", *WHICH)),
    (
        "memory_reservation",
        gauge("container_spec_memory_reservation_limit_bytes", "Memory reservation; 0 is none.", *WHICH),
    ),
    *(
        (
            f"{what}_{line}",
            counter(
                f"container_pressure_{what}_{how}_seconds_total",
                f"Time in which {who} waited for {what}.",
                *WHICH,
            ),
        )
        for what in ("cpu", "memory", "io")
        for line, how, who in (("some", "waiting", "some task"), ("full", "stalled", "all tasks"))
    ),
)
OF_QUOTA = ("periods", "throttled_periods", "throttled")  # they count only where there is a quota
DEVICE_FIGURES: tuple[tuple[str, Metric], ...] = (
    (
        "read_bytes",
        counter("container_fs_reads_bytes_total", "Bytes read from the device.", *WHICH, "device"),
    ),
    (
        "write_bytes",
        counter("container_fs_writes_bytes_total", "Bytes written to the device.", *WHICH, "device"),
    ),
    ("reads", counter("container_fs_reads_total", "Reads from the device.", *WHICH, "device")),
    ("writes", counter("container_fs_writes_total", "Writes to the device.", *WHICH, "device")),
)
DISK_USAGE = gauge("container_fs_usage_bytes", "Disk space that the container has written.", *WHICH, "device")
DISK_LIMIT = gauge("container_fs_limit_bytes", "Size of the file system that holds it.", *WHICH, "device")
# In the order of /proc/net/dev, first received, then sent.
NETWORK = tuple(
    counter(f"container_network_{way}_{what}_total", f"{label} {verb}.", *WHICH, "interface")
    for way, verb in (("receive", "received"), ("transmit", "sent"))
    for what, label in (
        ("bytes", "Bytes"),
        ("packets", "Packets"),
        ("errors", "Packets with errors"),
        ("packets_dropped", "Packets dropped when"),
    )
)
CORES = gauge("machine_cpu_cores", "CPUs of the machine.")
MEMORY = gauge("machine_memory_bytes", "Memory of the machine.")
SWAP = gauge("machine_swap_bytes", "Swap space of the machine.")

METRICS = (
    *(LAST_SEEN, START_TIME, PROCESSES, CPU, WORKING_SET, FAILURES),
    *(metric for _, metric in (*FIGURES, *DEVICE_FIGURES)),
    *(DISK_USAGE, DISK_LIMIT, *NETWORK, CORES, MEMORY, SWAP),
)
