"""What an analysis says, as it is stored, sent and shown; reading it needs neither numpy nor a trace."""

from __future__ import annotations

import msgspec


class Share(msgspec.Struct):
    """Time that is counted under one kind only."""

    kind: str
    seconds: float
    ratio: float


class Gap(msgspec.Struct):
    """A stretch without work, why, and what the program did meanwhile."""

    kind: str
    start_seconds: float  # after the window's start
    seconds: float
    during: str


class OperatorTime(msgspec.Struct):
    """An operator or kernel: how often it ran, and for how long without what it called."""

    name: str
    count: int
    total_seconds: float
    self_seconds: float


class StepTimes(msgspec.Struct):
    """Whole steps between two marks; the first and the last are cut by the window and left out."""

    mark: str  # ProfilerStep or Optimizer.step; with gradient accumulation the latter is rarer than batches
    count: int
    median_seconds: float
    min_seconds: float
    max_seconds: float


class Span(msgspec.Struct, array_like=True):
    """One kind of work for a while, in seconds after the window's start."""

    start: float
    end: float
    kind: str


class TraceSummary(msgspec.Struct, kw_only=True):
    """What one trace file says. Shares are exclusive; hidden communication overlaps compute."""

    start_ns: int  # Unix time of the window's start
    window_seconds: float
    has_gpu: bool
    shares: list[Share]
    communication_seconds: float
    communication_hidden_seconds: float
    communication_slices: list[float]
    operators: list[OperatorTime]
    kernels: list[OperatorTime]
    steps: StepTimes | None
    gaps: list[Gap]
    timeline: list[Span]
    coverage_ratio: float  # of the window, from the first event to the last
    overhead_ratio: float
    unfinished_events: int
    bad_events: int
    is_truncated: bool
    rank: int | None
    world_size: int | None
    trace_id: str
    messages: list[str]  # the profiler's own warnings

    def seconds_of(self, kind: str) -> float:
        return next((share.seconds for share in self.shares if share.kind == kind), 0.0)


class RankComparison(msgspec.Struct):
    """The verdict over all ranks that were traced together."""

    sentence: str
    slow_rank: int | None = None
    cause: str | None = None
    excess_seconds: float | None = None  # over the peers' median
    different_ranks: list[int] = []  # whose operators differ from the others' by design
    peer_rank: int | None = None  # a typical one, to look at beside the slow rank


class TimeChange(msgspec.Struct):
    """Seconds of one kind of work or operator before and after; absent on one side is null, not 0."""

    name: str
    before_seconds: float | None
    after_seconds: float | None

    @property
    def change_seconds(self) -> float:
        return (self.after_seconds or 0.0) - (self.before_seconds or 0.0)


class TraceComparison(msgspec.Struct):
    """Times are per step where both traces have steps, else per second of the window."""

    per: str  # "step" or "second"
    sentence: str
    shares: list[TimeChange]
    operators: list[TimeChange]
    kernels: list[TimeChange]


class StackFrame(msgspec.Struct, frozen=True):
    """One call; the file's name is short, as in `torch/utils/data/dataloader.py`."""

    function: str
    file: str
    line: int


class StackGroup(msgspec.Struct):
    """Ranks whose main threads run the same calls."""

    ranks: list[int]
    calls: list[StackFrame]  # those behind the calls that all groups share
    activity: str  # in words
    place: str  # the innermost line of the user's own code
    is_stuck: bool  # no movement between samples
    wait: str = ""
    workers: list[str] = []  # what the data loader's workers of these ranks do, where it differs


class StackReport(msgspec.Struct):
    """All ranks of a job, the smallest group first."""

    sentence: str
    shared_calls: list[StackFrame]
    groups: list[StackGroup]
    odd_ranks: list[int] = []
    errors: list[str] = []
