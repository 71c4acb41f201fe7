"""The processes of this node that report something, each with its last values; bounded in every way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from vigie.agent.gpu_processes import GpuMemory
from vigie.agent.reports.datagram import MOST_NAMES, InvalidReportError, Report, Sender

MOST_PROCESSES = 256
MOST_OF_USER = 128  # so that one user cannot take the room of all
PER_SECOND, BURST = 20.0, 40.0  # datagrams of one process
JOB = re.compile(r"/job_([0-9]+)(?:/|$)")

Identity = tuple[str, str]  # when a process began, and its job


class ProcessGoneError(Exception):
    """A process has ended."""


class ReportingProcess:
    """One process: what it last reported, and how much more it may for now."""

    def __init__(self, sender: Sender, started: str, job_id: str, now: float) -> None:
        self.sender, self.started, self.job_id = sender, started, job_id
        self.rank, self.gpu = "", ""
        self.values: dict[str, float] = {}
        self._allowance, self._at = BURST, now

    def spend(self, now: float) -> bool:
        """Tell whether one more datagram is within the rate."""
        self._allowance = min(BURST, self._allowance + (now - self._at) * PER_SECOND)
        self._at = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True


class ReportingProcesses:
    """All of them; who has ended is forgotten when the values are next taken."""

    def __init__(self, look: Callable[[int], Identity], clock: Callable[[], float]) -> None:
        self._look, self._clock = look, clock
        self._known: dict[int, ReportingProcess] = {}

    def take(self, sender: Sender, report: Report) -> None:
        """Keep what a process reports, or raise InvalidReportError."""
        now = self._clock()
        process = self._known.get(sender.pid)
        if process is None or process.sender != sender:
            process = self._welcome(sender, now)
        if not process.spend(now):
            raise InvalidReportError(f"a process sends more than {PER_SECOND:g} datagrams a second")
        fresh = sum(name not in process.values for name in report.values)
        if len(process.values) + fresh > MOST_NAMES:
            raise InvalidReportError(f"a process reports more than {MOST_NAMES} names")
        process.values.update(report.values)
        process.rank = report.rank or process.rank
        process.job_id = process.job_id or report.job_id

    def _welcome(self, sender: Sender, now: float) -> ReportingProcess:
        users = Counter(process.sender.uid for process in self._known.values())
        if len(self._known) >= MOST_PROCESSES or users[sender.uid] >= MOST_OF_USER:
            raise InvalidReportError(
                f"more than {MOST_PROCESSES} processes report, or {MOST_OF_USER} of one user"
            )
        try:
            started, job_id = self._look(sender.pid)
        except ProcessGoneError:
            raise InvalidReportError("its process has ended") from None
        process = self._known[sender.pid] = ReportingProcess(sender, started, job_id, now)
        return process

    def alive(self, memory: GpuMemory) -> list[ReportingProcess]:
        """Return those that are still there, each with the GPU on which it holds the most memory."""
        for pid, process in list(self._known.items()):
            if not self._is_there(process):
                del self._known[pid]
            if held := memory.get(str(pid)):
                process.gpu = max(held, key=lambda gpu: (held[gpu], gpu))
        return list(self._known.values())

    def _is_there(self, process: ReportingProcess) -> bool:
        try:
            return self._look(process.sender.pid)[0] == process.started
        except ProcessGoneError:
            return False


def identify(pid: int, proc: str = "/proc") -> Identity:
    """Return when a process began, and its Slurm job if its cgroup tells, or raise ProcessGoneError."""
    try:
        with open(f"{proc}/{pid}/stat", encoding="ascii", errors="replace") as file:
            started = file.read().rpartition(")")[2].split()[19]
        with open(f"{proc}/{pid}/cgroup", encoding="utf-8", errors="replace") as file:
            found = JOB.search(file.read())
    except (OSError, IndexError):
        raise ProcessGoneError(pid) from None
    return started, found[1] if found else ""
