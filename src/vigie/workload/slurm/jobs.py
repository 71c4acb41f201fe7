"""Jobs, from the lines of `scontrol -d -o show job`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vigie.workload.slurm.gres import count_gpus, count_tres_gpus, gpu_indices
from vigie.workload.slurm.hostlist import expand_hosts
from vigie.workload.slurm.records import (
    InvalidRecordError,
    parse_number,
    parse_time_ms,
    present,
    split_fields,
)

PENDING, RUNNING, SUSPENDED, COMPLETING = "PENDING", "RUNNING", "SUSPENDED", "COMPLETING"
ENDED = frozenset(
    ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
     "OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL")
)  # fmt: skip
DEPENDENCY = "Dependency"

# A name may hold blanks and what looks like fields. What follows it always has this form, so it tells
# where the name ends; a line in which it comes twice was made to mislead, or by bad luck.
_IDENTITY = re.compile(
    r"(?: SLUID=(s[0-9A-Z]+))?(?: HetJobIdSet=\S+)?"
    r" UserId=(\S+?)\((\d+)\) GroupId=\S+ MCS_label=\S* Priority=\d+ Nice=-?\d+ Account=(\S*) QOS=\S*"
    r"(?: WCKey=\S*)? JobState=(\S+) "
)
_FREE_TEXT = " Command="  # from here on stand paths, comments, and the line that submitted the job
# Behind the free text stand again fields that Slurm writes.
_REQUESTS = re.compile(r"(?: (?:[A-Z]\w*Tres\w*|Tres\w+|NtasksPerTRES|Power|Mail\w+)[=:]\S*)+\s*$")
_TASK_LIMIT = re.compile(r"%\d+$")


class Allocation(NamedTuple):
    """What a job was given on some nodes; the indices are the same on all of them."""

    nodes: tuple[str, ...]
    gpus: tuple[int, ...]


class Job(NamedTuple):
    """A job, an array task, the waiting rest of an array, or a component of a heterogeneous job."""

    id: str
    name: str
    user: str  # nothing when the record is ambiguous
    account: str
    partition: str
    state: str
    reason: str
    submit_ms: int | None
    start_ms: int | None  # of a pending job, when it is expected to start
    end_ms: int | None  # of a running job, when its limit ends it
    limit: str
    exit_code: str  # status:signal
    restarts: int
    cpus: int
    gpus: int
    nodes: tuple[str, ...]
    batch_host: str
    allocations: tuple[Allocation, ...]
    array: str = ""  # as squeue writes it: 4_2, or 4_[2-5%2] for those that wait
    tasks: int = 1  # that the record stands for
    het_job: str = ""
    sluid: str = ""

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def is_pending(self) -> bool:
        """Tell whether it waits; a state that is not known waits when it has no node."""
        return not self.has_ended and (self.state == PENDING or not self.nodes)

    @property
    def waits_for_another(self) -> bool:
        return self.state == PENDING and self.reason == DEPENDENCY


def parse_jobs(lines: Iterable[str]) -> Iterator[Job | InvalidRecordError]:
    """Yield each job; a line that is none gives the reason, and the rest goes on."""
    for line in lines:
        if line.startswith("No jobs in the system") or not line.strip():
            continue
        try:
            yield parse_job(line)
        except InvalidRecordError as error:
            yield error


def parse_job(line: str) -> Job:
    """Return the job of a line, or raise InvalidRecordError."""
    if not line.startswith("JobId="):
        raise InvalidRecordError(f"not a job: {line[:60]!r}")
    matches = list(_IDENTITY.finditer(line))
    head, named, rest = line.partition(" JobName=")
    if not matches or not named:
        raise InvalidRecordError(f"no user or state: {line[:60]!r}")
    identity = matches[0]
    sluid, user, _, account, state = identity.groups()
    ids = dict(split_fields(head))
    middle, _, tail = line[identity.end() :].partition(_FREE_TEXT)
    pairs = list(split_fields(middle))
    fields = dict(pairs)
    requests = _REQUESTS.search(" " + tail)
    fields.update(split_fields(requests[0]) if requests else ())
    ambiguous = len(matches) > 1
    return Job(
        id=ids["JobId"],
        name=rest[: max(identity.start() - len(head) - len(named), 0)],
        user="" if ambiguous else user,
        account="" if ambiguous else present(account),
        partition=fields.get("Partition", ""),
        state=state,
        reason=present(fields.get("Reason", "")),
        submit_ms=parse_time_ms(fields.get("SubmitTime", "")),
        start_ms=parse_time_ms(fields.get("StartTime", "")),
        end_ms=parse_time_ms(fields.get("EndTime", "")),
        limit=present(fields.get("TimeLimit", "")),
        exit_code=fields.get("ExitCode", ""),
        restarts=parse_number(fields.get("Restarts", "")) or 0,
        cpus=parse_number(fields.get("NumCPUs", "")) or 0,
        gpus=_count_gpus(fields),
        nodes=tuple(expand_hosts(fields.get("NodeList", ""))),
        batch_host=fields.get("BatchHost", ""),
        allocations=tuple(_allocations(pairs)),
        array=_array(ids),
        tasks=_count_tasks(ids.get("ArrayTaskId", "")),
        het_job=ids.get("HetJobId", ""),
        sluid=sluid or "",
    )


def _allocations(pairs: Iterable[tuple[str, str]]) -> Iterator[Allocation]:
    """Yield each `Nodes=... GRES=...` group; nodes that were given the same share one."""
    nodes: list[str] = []
    for name, value in pairs:
        if name == "Nodes":
            nodes = expand_hosts(value)
        elif name == "GRES" and nodes:
            yield Allocation(tuple(nodes), gpu_indices(value))
            nodes = []


def _count_gpus(fields: dict[str, str]) -> int:
    """Return how many GPUs a job has, or asks for; clusters may not track them as resources."""
    for name in ("AllocTRES", "TRES", "ReqTRES"):
        count = count_tres_gpus(fields.get(name, ""))
        if count is not None:
            return count
    if present(fields.get("JOB_GRES", "")):
        return count_gpus(fields["JOB_GRES"])
    nodes = parse_number(fields.get("NumNodes", "")) or 1
    tasks = parse_number(fields.get("NumTasks", "")) or 1
    each = {"TresPerJob": 1, "TresPerNode": nodes, "TresPerTask": tasks}
    return max((count_gpus(fields.get(name, "")) * times for name, times in each.items()), default=0)


def _array(ids: dict[str, str]) -> str:
    task = ids.get("ArrayTaskId", "")
    if not task:
        return ""
    return f"{ids.get('ArrayJobId', '')}_{task if task.isdecimal() else f'[{task}]'}"


def _count_tasks(tasks: str) -> int:
    """Return how many tasks of an array a record stands for.

    >>> _count_tasks("2-5%2"), _count_tasks("7"), _count_tasks(""), _count_tasks("0-10:5,12")
    (4, 1, 1, 4)
    """
    total = 0
    for part in _TASK_LIMIT.sub("", tasks).split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            total += (int(last or first) - int(first)) // max(int(step) if step.isdecimal() else 1, 1) + 1
    return min(max(total, 1), 1 << 22)
