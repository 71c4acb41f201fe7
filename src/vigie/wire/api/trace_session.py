"""A trace of some ranks at once, from the request to the files, as it is stored, sent and shown."""

from __future__ import annotations

import msgspec

# States of a session, and of each of its ranks in the order they go through.
OPEN, DONE, CANCELLED, FAILED = "open", "done", "cancelled", "failed"
ASSIGNED, FETCHED, TRACING, WRITING, WRITTEN, COLLECTED = (
    *("assigned", "fetched", "tracing", "writing", "written"),
    "collected",
)
BUSY, GONE, MISSING = "busy", "gone", "missing"
ENDED = frozenset((COLLECTED, BUSY, GONE, MISSING, FAILED, CANCELLED))


class TraceSwitches(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the profiler records beside operators; each makes the trace larger and the step slower."""

    record_shapes: bool = False
    profile_memory: bool = False
    with_stacks: bool = False
    with_flops: bool = False
    with_modules: bool = False


class TraceSelection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whom to trace: all that is given must hold."""

    job: str = ""
    nodes: list[str] = []
    pids: list[int] = []
    user: str = ""
    include_launchers: bool = False  # processes without a rank too


class RankTrace(msgspec.Struct, kw_only=True):
    """One process of a session."""

    node: str
    pid: int
    inner_pid: int
    uid: int
    path: str
    user: str = ""
    rank: int | None = None
    state: str = ASSIGNED
    reason: str = ""
    size_bytes: int = 0
    collected_bytes: int = 0
    note: str = ""  # what is odd about the file

    @property
    def label(self) -> str:
        """Return the name of its file in the library."""
        return f"rank{self.rank}" if self.rank is not None else f"{self.node}-{self.pid}"


class TraceSession(msgspec.Struct, kw_only=True):
    """A request and how far it is."""

    id: str
    owner: str  # who asked
    created_ms: int
    selection: TraceSelection
    switches: TraceSwitches
    duration_ms: int
    iterations: int = 0
    iteration_roundup: int = 1
    start_ms: int = 0
    state: str = OPEN
    ranks: list[RankTrace] = []
    remarks: list[str] = []  # what was noticed before and after
    verdict: str = ""

    @property
    def users(self) -> set[str]:
        return {rank.user for rank in self.ranks}

    @property
    def is_over(self) -> bool:
        return all(rank.state in ENDED for rank in self.ranks)
