"""The metrics of containers, under cAdvisor's names and labels."""

from __future__ import annotations

from vigie.model import counter, gauge

WHICH = ("id", "name", "image")  # the cgroup's path; name and image are empty for one that is no container
LAST_SEEN = gauge("container_last_seen", "When the container was last seen, as a Unix time.", *WHICH)
START_TIME = gauge("container_start_time_seconds", "When the container began, as a Unix time.", *WHICH)

CPU = (
    counter("container_cpu_usage_seconds_total", "CPU time in all.", *WHICH, "cpu"),
    counter("container_cpu_user_seconds_total", "CPU time in user mode.", *WHICH),
    counter("container_cpu_system_seconds_total", "CPU time in the kernel.", *WHICH),
    counter("container_cpu_cfs_periods_total", "Periods of the CPU quota that have passed.", *WHICH),
    counter("container_cpu_cfs_throttled_periods_total", "Periods in which the quota was used up.", *WHICH),
    counter("container_cpu_cfs_throttled_seconds_total", "Time in which the quota was used up.", *WHICH),
    gauge("container_cpu_load_average_10s", "Thousandths of tasks that run or wait, of 10 s.", *WHICH),
)
MEMORY = (
    gauge("container_memory_usage_bytes", "Memory in use, page cache included.", *WHICH),
    gauge("container_memory_working_set_bytes", "Memory in use, less what is easily dropped.", *WHICH),
    gauge("container_memory_rss", "Anonymous memory in bytes.", *WHICH),
    gauge("container_memory_cache", "Page cache in bytes.", *WHICH),
    gauge("container_memory_mapped_file", "Mapped files in bytes.", *WHICH),
    gauge("container_memory_swap", "Swap in use in bytes.", *WHICH),
    gauge("container_memory_max_usage_bytes", "The most memory that was in use at once.", *WHICH),
    counter("container_memory_failcnt", "How often the memory limit was hit.", *WHICH),
    counter("container_memory_failures_total", "Page faults by type.", *WHICH, "failure_type", "scope"),
    counter("container_oom_events_total", "Processes killed for want of memory.", *WHICH),
)
DISK = (
    counter("container_fs_reads_bytes_total", "Bytes read from the device.", *WHICH, "device"),
    counter("container_fs_writes_bytes_total", "Bytes written to the device.", *WHICH, "device"),
    counter("container_fs_reads_total", "Reads from the device.", *WHICH, "device"),
    counter("container_fs_writes_total", "Writes to the device.", *WHICH, "device"),
    counter("container_fs_io_time_seconds_total", "Time with requests to the device.", *WHICH, "device"),
    gauge("container_fs_usage_bytes", "Room that the container takes on the device.", *WHICH, "device"),
    gauge("container_fs_limit_bytes", "Room that the container may take on the device.", *WHICH, "device"),
)
NETWORK = tuple(
    counter(f"container_network_{way}_{what}_total", f"{what.capitalize()} {verb}.", *WHICH, "interface")
    for way, verb in (("receive", "received"), ("transmit", "sent"))
    for what in ("bytes", "packets", "packets_dropped", "errors")
)
PRESSURE = tuple(
    counter(
        f"container_pressure_{what}_{how}_seconds_total", f"Time in which {who} waited for {what}.", *WHICH
    )
    for what in ("cpu", "memory", "io")
    for how, who in (("waiting", "some task"), ("stalled", "all tasks"))
)
LIMITS = (
    gauge("container_spec_cpu_quota", "CPU quota a period, in microseconds.", *WHICH),
    gauge("container_spec_cpu_period", "Period of the CPU quota, in microseconds.", *WHICH),
    gauge("container_spec_cpu_shares", "Share of the CPU when it is short.", *WHICH),
    gauge("container_spec_memory_limit_bytes", "Memory limit; 0 is none.", *WHICH),
    gauge("container_processes", "Processes in the container.", *WHICH),
    gauge("container_threads", "Threads in the container.", *WHICH),
)
METRICS = (LAST_SEEN, START_TIME, *CPU, *MEMORY, *DISK, *NETWORK, *PRESSURE, *LIMITS)
