"""What server and agents say to each other about traces and stacks, as data of commands."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Path = Annotated[str, Meta(max_length=1024)]
SessionId = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}$")]
Pid = Annotated[int, Meta(gt=0, lt=1 << 31)]
MAX_TARGETS = 256  # processes of one node


class TrainerInfo(Struct, kw_only=True, omit_defaults=True):
    """A process that polls for traces, and what its environment says."""

    pid: int
    inner_pid: int  # as the process sees itself: its file is named so
    uid: int
    user: str = ""
    job_id: int = 0  # SLURM_JOB_ID, as the trainer says
    job: str = ""  # as the node found it by its cgroup
    ancestors: list[int] = []
    rank: int | None = None
    world_size: int | None = None
    name: str = ""
    trace_directory: str = ""
    is_busy: bool = False
    is_young: bool = False


class TrainerList(Struct, omit_defaults=True):
    """The trainers of a node; the problem says why there may be others that do not poll here."""

    trainers: list[TrainerInfo] = []
    problem: str = ""
    free_bytes: int | None = None  # where trainers write


class TraceTarget(Struct):
    """A process and the file it is to write, in its own view of the file system."""

    pid: Pid
    inner_pid: Pid
    uid: int
    path: Path


class TraceOrder(Struct, kw_only=True, omit_defaults=True):
    """What some trainers of a node are to record."""

    session: SessionId
    targets: Annotated[list[TraceTarget], Meta(max_length=MAX_TARGETS)]
    start_ms: int = 0
    duration_ms: Annotated[int, Meta(ge=1, le=600_000)] = 500
    iterations: Annotated[int, Meta(ge=0, le=10_000)] = 0
    iteration_roundup: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    record_shapes: bool = False
    profile_memory: bool = False
    with_stacks: bool = False
    with_flops: bool = False
    with_modules: bool = False
    memory_snapshot: bool = False


class TargetState(Struct, omit_defaults=True):
    """How far one process is: assigned, fetched, tracing, writing, written; else busy, gone or failed."""

    pid: int
    state: str
    reason: str = ""
    size: int = 0  # bytes of the file, once it is written


class TargetStates(Struct):
    states: list[TargetState]


class PieceOrder(Struct):
    """The next part of a file that is wanted."""

    session: SessionId
    target: TraceTarget
    offset: Annotated[int, Meta(ge=0)]


class PieceHeader(Struct):
    """Which part of a file comes with a piece; the piece itself is one gzip member."""

    offset: int
    next_offset: int
    size: int


class StackOrder(Struct, kw_only=True, omit_defaults=True):
    """Whose stacks to take: a job's, or some processes'. With a user's name, others' are refused."""

    job: Annotated[str, Meta(max_length=64)] = ""
    pids: Annotated[list[Pid], Meta(max_length=MAX_TARGETS)] = []
    user: str = ""
    samples: Annotated[int, Meta(ge=1, le=10)] = 3
