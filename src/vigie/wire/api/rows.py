"""What the pages are made of: verdicts, numbers, incidents, GPUs, jobs, nodes. None is absent, never 0."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from vigie.wire.api.resources import EventRow

State = Literal["ok", "warning", "critical", "unknown"]
Severity = Literal["critical", "warning", "info"]
JobState = Literal["running", "waiting", "finished"]


class Verdict(Struct, frozen=True):
    """What matters most, in words."""

    state: State
    sentence: str


class Stat(Struct, frozen=True):
    """A number at the head of a page; an absent one has a reason."""

    key: str
    label: str
    value: float | None
    of: float | None
    unit: str
    state: State
    query: str
    reason: str


class JobName(Struct, frozen=True):
    id: str
    name: str


class Impact(Struct, frozen=True):
    """The jobs, users and GPUs that an incident affects."""

    jobs: list[JobName]
    users: list[str]
    gpus: int


class IncidentRow(Struct, frozen=True):
    id: str
    finding: str
    title: str
    severity: Severity
    summary: str
    where: dict[str, str]
    nodes: list[str]
    since_ms: int
    until_ms: int | None
    affects: Impact
    action: str
    link: str


class Holder(Struct, frozen=True):
    kind: str
    id: str
    name: str
    user: str


class MigSlice(Struct, frozen=True):
    instance: str
    profile: str
    holder: Holder | None


class GpuCell(Struct, frozen=True):
    """One GPU of the map."""

    node: str
    gpu: str
    uuid: str
    model: str
    vendor: str
    holder: Holder | None
    working: bool | None
    busy: float | None
    sm: float | None
    memory: float | None
    memory_bytes: float | None
    memory_total_bytes: float | None
    power: float | None
    power_limit: float | None
    temperature: float | None
    clock: float | None
    throttled: list[str]
    health: Literal["ok", "warning", "critical", "lost"]
    why: str
    mig: list[MigSlice]


class JobLadder(Struct, frozen=True):
    """How many GPUs of a job are held, have a process, are busy and compute."""

    held: float | None = None
    process: float | None = None
    busy: float | None = None
    sm: float | None = None
    tensor: float | None = None


class JobRow(Struct, frozen=True):
    id: str
    name: str
    user: str
    account: str
    partition: str
    state: JobState
    reason: str
    queued_ms: int | None
    start_ms: int | None
    end_ms: int | None
    limit_seconds: int | None
    nodes: list[str]
    gpus: list[str]
    wanted_gpus: int | None
    ladder: JobLadder
    badge: str
    why: str
    array: str = ""  # as squeue writes it: 4_2, or 4_[3-9] for its pending tasks
    restarts: int = 0


class SlurmState(Struct, frozen=True):
    state: str
    reason: str


class NodeRow(Struct, frozen=True):
    name: str
    state: str
    why: str
    labels: dict[str, str]
    slurm: SlurmState | None
    cpu: float | None
    memory: float | None


class ClusterNode(NodeRow, frozen=True):
    cells: list[GpuCell]


class ListedNode(NodeRow, frozen=True):
    gpus: int
    present: int  # of them
    incidents: int
    version: str
    missing: list[str]


class AgentUsage(Struct, frozen=True):
    version: str
    cpu_ratio: float | None
    rss_bytes: float | None


class NodeDetails(NodeRow, frozen=True):
    uptime_seconds: float | None
    model: str
    gpu_model: str
    driver: str
    kernel: str
    agent: AgentUsage
    addresses: list[str]
    last_seen_ms: int | None
    inventory: dict[str, str]
    expected: dict[str, str]
    missing: list[str]


class NodeHolder(Struct, frozen=True):
    """A container or an environment on a node, and the GPUs that it holds."""

    name: str
    user: str
    from_ms: int
    image: str
    gpus: list[str]


class ProcessRow(Struct, frozen=True):
    gpu: str
    pid: str
    gpu_memory_bytes: float


class NodeHolders(Struct, frozen=True):
    jobs: list[JobRow]
    containers: list[NodeHolder]
    environments: list[NodeHolder]
    processes: list[ProcessRow]


class SourceRow(Struct, frozen=True):
    source: str
    state: Literal["ok", "unavailable", "error", "stale"]
    reason: str
    seconds: float | None


class LadderStep(Struct, frozen=True):
    step: str
    key: str
    gpus: float | None
    lost_gpu_hours: float | None
    reason: str


class ReceiptLine(Struct, frozen=True):
    label: str
    value: float | None
    unit: str
    reason: str


class RankRow(Struct, frozen=True):
    """A rank of a job: what it measures, and in what it is far from the median."""

    rank: int
    node: str
    gpu: str
    sm: float | None
    tensor: float | None
    memory: float | None
    power: float | None
    clock: float | None
    nvlink: float | None
    infiniband: float | None
    cpu: float | None
    oddness: float
    odd: list[str]
    loss: float | None = None  # this and the next three as the job itself reports
    step_seconds: float | None = None
    samples_per_second: float | None = None
    mfu: float | None = None


class FreeGpus(Struct, frozen=True):
    """What is free where a waiting job wants to run."""

    partition: str
    gpus: int
    nodes: int
    sentence: str


class GpuDetails(Struct, frozen=True):
    node: str
    gpu: str
    uuid: str
    model: str
    vendor: str
    driver: str
    pci_bus_id: str
    processes: float | None


class Allocation(Struct, frozen=True):
    kind: str
    id: str
    name: str
    user: str
    from_ms: int
    to_ms: int | None


class HealthRow(Struct, frozen=True):
    label: str
    value: float | str | None
    unit: str
    state: State
    why: str


class GpuHealth(Struct, frozen=True):
    xids: list[EventRow]
    facts: list[HealthRow]


class UserRow(Struct, frozen=True):
    user: str
    held: int
    working: int
    idle: int
    waiting: int
    gpu_hours: float


class IdleHolder(Struct, frozen=True):
    """What is held and not used, with the command that gives it back."""

    summary: str
    command: str
    cells: list[GpuCell]


class UserDay(Struct, frozen=True):
    """The GPU-hours of a day that were held and worked."""

    day: str
    held: float
    worked: float | None


class UserHolder(Struct, frozen=True):
    """A container or an environment of a user, and the GPUs that it holds."""

    name: str
    node: str
    from_ms: int
    gpus: list[str]
