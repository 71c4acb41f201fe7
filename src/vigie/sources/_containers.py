"""Metrics of containers, with cAdvisor's names and labels."""

from __future__ import annotations

from vigie.model import counter, gauge

WHICH = ("id", "name", "image")  # cgroup path; name and image are empty if it is not a container
LAST_SEEN = gauge("container_last_seen", "Unix time at which the container was last seen.", *WHICH)
START_TIME = gauge("container_start_time_seconds", "Unix time at which the container started.", *WHICH)

CPU = (
    counter("container_cpu_usage_seconds_total", "Cumulative CPU time.", *WHICH, "cpu"),
    counter("container_cpu_user_seconds_total", "Cumulative CPU time in user mode.", *WHICH),
    counter("container_cpu_system_seconds_total", "Cumulative CPU time in kernel mode.", *WHICH),
    counter("container_cpu_cfs_periods_total", "Elapsed periods of the CPU quota.", *WHICH),
    counter(
        "container_cpu_cfs_throttled_periods_total", "Periods in which the container was throttled.", *WHICH
    ),
    counter(
        "container_cpu_cfs_throttled_seconds_total", "Time for which the container was throttled.", *WHICH
    ),
    gauge(
        "container_cpu_load_average_10s",
        "Average of running and waiting tasks over 10 s, in thousandths.",
        *WHICH,
    ),
)
MEMORY = (
    gauge("container_memory_usage_bytes", "Memory usage including page cache.", *WHICH),
    gauge(
        "container_memory_working_set_bytes", "Working set: memory usage without inactive page cache.", *WHICH
    ),
    gauge("container_memory_rss", "Anonymous memory in bytes.", *WHICH),
    gauge("container_memory_cache", "Page cache in bytes.", *WHICH),
    gauge("container_memory_mapped_file", "Mapped files in bytes.", *WHICH),
    gauge("container_memory_swap", "Swap usage in bytes.", *WHICH),
    gauge("container_memory_max_usage_bytes", "Maximum memory usage.", *WHICH),
    counter("container_memory_failcnt", "Times memory usage reached its limit.", *WHICH),
    counter("container_memory_failures_total", "Page faults by type.", *WHICH, "failure_type", "scope"),
    counter("container_oom_events_total", "OOM kills.", *WHICH),
)
DISK = (
    counter("container_fs_reads_bytes_total", "Bytes read from the device.", *WHICH, "device"),
    counter("container_fs_writes_bytes_total", "Bytes written to the device.", *WHICH, "device"),
    counter("container_fs_reads_total", "Reads from the device.", *WHICH, "device"),
    counter("container_fs_writes_total", "Writes to the device.", *WHICH, "device"),
    counter("container_fs_io_time_seconds_total", "Time with I/O in progress.", *WHICH, "device"),
    gauge("container_fs_usage_bytes", "Space used on the device.", *WHICH, "device"),
    gauge("container_fs_limit_bytes", "Space available to the container on the device.", *WHICH, "device"),
)
NETWORK = tuple(
    counter(f"container_network_{way}_{what}_total", f"{what.capitalize()} {verb}.", *WHICH, "interface")
    for way, verb in (("receive", "received"), ("transmit", "sent"))
    for what in ("bytes", "packets", "packets_dropped", "errors")
)
PRESSURE = tuple(
    counter(
        f"container_pressure_{what}_{how}_seconds_total", f"Time for which {who} waited for {what}.", *WHICH
    )
    for what in ("cpu", "memory", "io")
    for how, who in (("waiting", "some tasks"), ("stalled", "all tasks"))
)
LIMITS = (
    gauge("container_spec_cpu_quota", "CPU quota per period, in microseconds.", *WHICH),
    gauge("container_spec_cpu_period", "Period of the CPU quota, in microseconds.", *WHICH),
    gauge("container_spec_cpu_shares", "Relative CPU weight.", *WHICH),
    gauge("container_spec_memory_limit_bytes", "Memory limit, 0 if unlimited.", *WHICH),
    gauge("container_processes", "Processes in the container.", *WHICH),
    gauge("container_threads", "Threads in the container.", *WHICH),
)
METRICS = (LAST_SEEN, START_TIME, *CPU, *MEMORY, *DISK, *NETWORK, *PRESSURE, *LIMITS)
