"""Traces and stacks, as the server answers them."""

from __future__ import annotations

from msgspec import Struct

from vigie.wire.api.trace_reports import RankComparison, StackReport, TraceSummary
from vigie.wire.api.trace_session import TraceSelection, TraceSession, TraceSwitches

MAX_BODY_BYTES = 1 << 16


class TraceRequestBody(Struct, kw_only=True, omit_defaults=True):
    """Whom to trace, for how long, and what to record."""

    selection: TraceSelection
    duration_ms: int = 500
    iterations: int = 0
    iteration_roundup: int = 1
    switches: TraceSwitches = TraceSwitches()


class TraceList(Struct):
    """Sessions, the newest first."""

    traces: list[TraceSession]


class TraceDetail(Struct):
    """A session, what its ranks differ in, and what each file says, by the rank's label."""

    session: TraceSession
    comparison: RankComparison | None
    summaries: dict[str, TraceSummary]
    has_perfetto: bool  # the server has Perfetto to open the files with


class RemovedTrace(Struct):
    removed: str


class TrainerRow(Struct, kw_only=True):
    """A process that can be traced."""

    node: str
    pid: int
    rank: int | None
    user: str
    job: str
    is_busy: bool


class TrainerRows(Struct):
    """Who can be traced now; problems say why there may be more that cannot."""

    trainers: list[TrainerRow]
    problems: list[str]


class StackRequestBody(Struct, kw_only=True, omit_defaults=True):
    """Whose stacks to take: all processes of a job, or some of a node."""

    job: str = ""
    nodes: list[str] = []
    pids: list[int] = []


class StackAnswer(Struct):
    report: StackReport
    processes: int
