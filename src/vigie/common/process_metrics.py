"""What a process of ours says of itself: its CPU time, memory, files and threads."""

from __future__ import annotations

import os
import resource
import threading
import time

from vigie.model import Metric, counter, gauge

METRICS: tuple[Metric, ...] = (
    counter("process_cpu_seconds_total", "CPU time of this process."),
    gauge("process_resident_memory_bytes", "Memory of this process that is in RAM."),
    gauge("process_virtual_memory_bytes", "Address space of this process."),
    gauge("process_virtual_memory_max_bytes", "The most address space that this process may take."),
    gauge("process_open_fds", "Files that this process holds open."),
    gauge("process_max_fds", "The most files that this process may hold open."),
    gauge("process_start_time_seconds", "When this process started, in seconds since 1970."),
    gauge("process_threads", "Threads of this process."),
)

# What exporters conventionally say for "unlimited".
NO_LIMIT = float(2**64)


class ProcessMetrics:
    """Reads the values of the metrics, in their order."""

    def __init__(self) -> None:
        self._page = resource.getpagesize()
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._limits = [_limit(resource.RLIMIT_AS), _limit(resource.RLIMIT_NOFILE)]
        self._started = _started()

    def values(self) -> list[float]:
        space, resident = os.pread(self._statm, 128, 0).split()[:2]
        most_space, most_files = self._limits
        return [
            round(time.process_time(), 6),
            int(resident) * self._page,
            int(space) * self._page,
            most_space,
            _open_files(),
            most_files,
            self._started,
            threading.active_count(),
        ]


def _limit(kind: int) -> float:
    limit, _ = resource.getrlimit(kind)
    return NO_LIMIT if limit == resource.RLIM_INFINITY else limit


def _open_files() -> int:
    # Linux 6.2 and newer count them for us; before that the size is 0.
    counted = os.stat("/proc/self/fd").st_size
    return counted or len(os.listdir("/proc/self/fd")) - 1  # less the one that lists them


def _started() -> float:
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()  # the name in brackets may hold anything
    after_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return round(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + after_boot, 2)
