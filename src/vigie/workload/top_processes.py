"""The processes that matter: those on GPUs, of jobs and containers, and those that use most of the machine.

All processes are looked at once a minute to choose; between, only those that were chosen are read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from vigie.model import Sample, counter, gauge, info
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable
from vigie.workload.attribution import Attribution, Attributor
from vigie.workload.cgroup_stats import is_number
from vigie.workload.process import ProcessStat, read_stat

WHO = ("pid", "name", "user")
METRICS = (
    INFO := info(
        "vigie_process_info",
        "What the process runs, on which GPUs, and for whom; to join with on instance and pid.",
        *(*WHO, "command", "gpu", "job_id", "container", "environment"),
    ),
    CPU := counter("vigie_process_cpu_seconds_total", "CPU time of the process.", *WHO),
    MEMORY := gauge("vigie_process_resident_memory_bytes", "Memory that the process has in RAM.", *WHO),
    READ := counter("vigie_process_read_bytes_total", "Bytes that the process read from disks.", *WHO),
    WRITTEN := counter("vigie_process_written_bytes_total", "Bytes that the process wrote to disks.", *WHO),
    THREADS := gauge("vigie_process_threads", "Threads of the process.", *WHO),
    START := gauge("vigie_process_start_time_seconds", "When the process began, as a Unix time.", *WHO),
    STATE := gauge(
        "vigie_process_state",
        "State of the process: 0 running, 1 sleeping, 2 waiting for I/O, 3 stopped, 4 zombie.",
        *WHO,
    ),
)
STATES = {"R": 0, "S": 1, "I": 1, "D": 2, "T": 3, "t": 3, "Z": 4, "X": 4}


def _whole(text: str) -> None:
    if not text.isdecimal() or not 0 < int(text) <= 1000:
        raise ValueError("should be a whole number from 1 to 1000")


def _choice(text: str) -> None:
    if text not in ("program", "all"):
        raise ValueError("should be program or all")


OPTIONS = (
    SourceOption("max_processes", "50", "Maximum number of processes.", _whole),
    SourceOption(
        "commands",
        "program",
        "`program`: commands without arguments, but for a script's name. `all`: whole commands; what looks "
        "like a secret is left out.",
        _choice,
    ),
)
LOOK_EVERY = 60.0  # seconds
TOP = 5  # of CPU and of memory each, whatever else there is
MAX_PIDS = 50_000
PAGES_WORTH = 1024  # of memory, below which nobody is a top consumer


class ProcessReader:
    """Chooses processes now and then, and reads the chosen."""

    def __init__(self, host: Host) -> None:
        limit, commands = (host.options.get(one.name, one.default) for one in OPTIONS)
        self._host, self._most = host, int(limit)
        self._attributor = Attributor(host, whole_commands=commands == "all")
        self._looked = float("-inf")
        self._ticks: dict[tuple[int, int], int] = {}  # CPU time at the last look
        self._listed: list[int] = []

    def read(self) -> Iterator[Sample]:
        """Yield what each chosen process uses."""
        on_gpus = self._on_gpus()
        now = time.monotonic()
        if now - self._looked > LOOK_EVERY:
            self._looked = now
            self._listed = self._choose()
        wanted = list(dict.fromkeys([*on_gpus, *self._listed]))[: self._most]
        stats = {pid: stat for pid in wanted if (stat := read_stat(self._host, pid))}
        for pid, one in self._attributor.attribute_read(stats).items():
            gpus = ",".join(map(str, sorted(on_gpus.get(pid, ()))))
            yield from self._process(one, stats[pid], gpus)

    def _on_gpus(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        try:
            gpus = self._host.nvml.users(self._host.note) if self._host.nvml else []
        except Unavailable:
            return found
        for gpu in gpus:
            for process in gpu.processes or ():
                found.setdefault(process.pid, set()).add(gpu.gpu)
        return found

    def _choose(self) -> list[int]:
        """Return the processes worth reading, the most important first."""
        pids = [int(name) for name in self._host.proc.list_names() if name.isdecimal()]
        if len(pids) > MAX_PIDS:
            self._host.note("/proc", f"{len(pids)} processes are too many to look at each")
            return self._listed
        stats = {
            pid: stat for pid in pids if (stat := read_stat(self._host, pid)) and stat.resident_pages > 0
        }
        before, self._ticks = (
            self._ticks,
            {(pid, one.start_ticks): one.cpu_ticks for pid, one in stats.items()},
        )
        spent = {pid: one.cpu_ticks - before.get((pid, one.start_ticks), 0) for pid, one in stats.items()}
        by_cpu = sorted(stats, key=lambda pid: -spent[pid])
        by_memory = sorted(stats, key=lambda pid: -stats[pid].resident_pages)
        top = [pid for pid in by_cpu[:TOP] if spent[pid]]
        top += [pid for pid in by_memory[:TOP] if stats[pid].resident_pages > PAGES_WORTH]
        return list(dict.fromkeys([*top, *self._of_workload(by_cpu, stats)]))[: self._most]

    def _of_workload(self, pids: Iterable[int], stats: dict[int, ProcessStat]) -> Iterator[int]:
        """Yield the processes of jobs, containers and environments, in their order."""
        for pid in pids:
            one = self._attributor.identity(pid, stats[pid])
            if one.cgroup or one.variables:
                yield pid

    def _process(self, one: Attribution, stat: ProcessStat, gpus: str) -> Iterator[Sample]:
        who = str(one.process.pid), one.process.name, one.user
        container = one.container.label if one.container else ""
        yield INFO, (*who, one.process.command, gpus, one.job, container, one.environment), 1
        yield CPU, who, stat.cpu_ticks / self._host.calls.ticks
        yield MEMORY, who, stat.resident_pages * self._host.calls.page_size
        yield THREADS, who, stat.threads
        yield START, who, one.process.start_ms / 1000
        yield STATE, who, STATES.get(stat.state)
        yield from self._disk(one.process.pid, who)

    def _disk(self, pid: int, who: tuple[str, str, str]) -> Iterator[Sample]:
        try:
            text = self._host.proc.read_once(f"{pid}/io")
        except OSError as error:
            if isinstance(error, PermissionError):
                self._host.note("disk use of processes", "not readable for those of other users")
            return
        pairs = dict(line.partition(": ")[::2] for line in text.splitlines())
        for name, metric in (("read_bytes", READ), ("write_bytes", WRITTEN)):
            if is_number(pairs.get(name, "")):
                yield metric, who, int(pairs[name])


def read(host: Host) -> Iterator[Sample]:
    """Yield the processes that matter."""
    reader: ProcessReader = host.cache.get("reader") or ProcessReader(host)
    host.cache["reader"] = reader
    yield from reader.read()


SOURCE = Source("top_processes", METRICS, read, slow=True, options=OPTIONS)
