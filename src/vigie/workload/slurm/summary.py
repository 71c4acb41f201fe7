"""What all jobs of a cluster come to: counts for everybody, and a bounded number of jobs one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vigie.workload.slurm.jobs import PENDING, RUNNING, SUSPENDED, Job
from vigie.workload.slurm.records import InvalidRecordError

MAX_HELD, MAX_PENDING, MAX_ENDED = 8192, 2048, 4096  # jobs that are kept one by one
MAX_NAMES = 10_000  # users, accounts, reasons that are counted


class Share:
    """What the jobs of one user or account come to."""

    __slots__ = ("cpus", "pending", "running", "suspended")

    def __init__(self) -> None:
        self.pending = self.running = self.suspended = self.cpus = 0

    def add(self, job: Job) -> None:
        self.pending += job.tasks * (job.state == PENDING)
        self.running += job.state == RUNNING
        self.suspended += job.state == SUSPENDED
        self.cpus += job.cpus * (job.state == RUNNING)


class JobSummary:
    """Takes jobs as they are read, so that a queue of any length costs the same memory."""

    def __init__(self, jobs: Iterable[Job | InvalidRecordError] = ()) -> None:
        self.states: Counter[str] = Counter()
        self.pending_dependency = 0
        self.reasons: Counter[str] = Counter()
        self.partitions: Counter[str] = Counter()  # jobs that wait, by partition
        self.oldest_ms: dict[str, int] = {}  # by partition, since when a job has waited
        self.users: dict[str, Share] = {}
        self.accounts: dict[str, Share] = {}
        self.held: list[Job] = []
        self.pending: list[Job] = []
        self.ended: list[Job] = []
        self.invalid: list[str] = []
        self.ambiguous: list[str] = []
        self.total = self.unkept = 0
        for job in jobs:
            self.add(job)

    def add(self, job: Job | InvalidRecordError) -> None:
        if isinstance(job, InvalidRecordError):
            self.invalid = [*self.invalid[-3:], str(job)]
            return
        self.total += job.tasks
        self.states[job.state] += job.tasks
        self.pending_dependency += job.tasks * job.waits_for_another
        if job.state == PENDING:
            self._add_pending(job)
        if job.user:
            _share(self.users, job.user).add(job)
        else:
            self.ambiguous.append(job.id)
            del self.ambiguous[4:]
        if job.account:
            _share(self.accounts, job.account).add(job)
        self._keep(job)

    def _add_pending(self, job: Job) -> None:
        reason = job.reason.partition(",")[0].partition("(")[0] or "None"
        if reason in self.reasons or len(self.reasons) < MAX_NAMES:
            self.reasons[reason] += job.tasks
        for partition in job.partition.split(","):  # a job may ask for any of several
            self.partitions[partition] += job.tasks
            if job.submit_ms is not None:
                oldest = self.oldest_ms.get(partition, job.submit_ms)
                self.oldest_ms[partition] = min(oldest, job.submit_ms)

    def _keep(self, job: Job) -> None:
        if job.has_ended:
            kept, limit = self.ended, MAX_ENDED
        elif job.is_pending:
            kept, limit = self.pending, MAX_PENDING
        else:
            kept, limit = self.held, MAX_HELD
        if len(kept) < limit:
            kept.append(job)
        else:
            self.unkept += 1


def _share(shares: dict[str, Share], name: str) -> Share:
    if name not in shares and len(shares) >= MAX_NAMES:
        name = "other"
    return shares.setdefault(name, Share())
