"""Looks at everything that would make a trace fail, before any trainer is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from vigie.wire.api.trace_session import TraceSelection
from vigie.wire.tracing import TrainerInfo, TrainerList

SECONDS_AHEAD = 16  # a trainer polls every 5 s and warms up for 6
BYTES_PER_SECOND = 75_000_000  # of trace file from one rank, on the high side
MAX_RANKS = 2048
ENABLE = "KINETO_USE_DAEMON=1"


class TraceRefusedError(Exception):
    """The trace would not work; the message says why and what to do."""


class Candidate(NamedTuple):
    """A trainer on a node."""

    node: str
    trainer: TrainerInfo


def select_trainers(
    nodes: Mapping[str, TrainerList], selection: TraceSelection, user: str | None
) -> list[Candidate]:
    """Return whom to trace, ranks before launchers, or raise TraceRefusedError.

    With a `user`, only their own processes are taken.
    """
    found = [Candidate(node, trainer) for node, listed in nodes.items() for trainer in listed.trainers]
    matching = [candidate for candidate in found if _matches(candidate, selection)]
    own = [candidate for candidate in matching if user is None or candidate.trainer.user == user]
    if not own:
        raise TraceRefusedError(_explain_none(nodes, found, matching, selection))
    ranks = [candidate for candidate in own if candidate.trainer.rank is not None]
    chosen = own if selection.include_launchers or not ranks else ranks
    free = [candidate for candidate in chosen if not candidate.trainer.is_busy]
    if not free:
        raise TraceRefusedError(
            f"All {len(chosen)} processes are being traced already. Wait until that is done: vigie trace list"
        )
    if len(free) > MAX_RANKS:
        raise TraceRefusedError(
            f"{len(free)} processes match, the limit is {MAX_RANKS}. Select fewer: --nodes, --pids"
        )
    return sorted(free, key=lambda c: (c.trainer.rank is None, c.trainer.rank or 0, c.node, c.trainer.pid))


def check_disk(candidates: Sequence[Candidate], nodes: Mapping[str, TrainerList], duration_ms: int) -> None:
    """Raise TraceRefusedError where a node has too little room for what its ranks may write."""
    for node in sorted({candidate.node for candidate in candidates}):
        free = nodes[node].free_bytes
        ranks = sum(candidate.node == node for candidate in candidates)
        needed = round(ranks * BYTES_PER_SECOND * max(duration_ms, 500) / 1000)
        if free is not None and free < needed:
            raise TraceRefusedError(
                f"{node}: /tmp has {free >> 20} MiB free, {ranks} ranks may write {needed >> 20} MiB."
                " Free space or trace a shorter time"
            )


def list_remarks(candidates: Iterable[Candidate], *, counts_iterations: bool) -> list[str]:
    """Return what a user should know although the trace goes on."""
    remarks = []
    young = [c for c in candidates if c.trainer.is_young]
    if counts_iterations and young:
        remarks.append(f"{len(young)} trainers have just started: they are asked once they run their steps.")
    return remarks


def _matches(candidate: Candidate, selection: TraceSelection) -> bool:
    trainer = candidate.trainer
    return (
        (not selection.job or selection.job in (str(trainer.job_id), trainer.job))
        and (not selection.nodes or candidate.node in selection.nodes)
        and (not selection.pids or not {trainer.pid, *trainer.ancestors}.isdisjoint(selection.pids))
        and (not selection.user or trainer.user == selection.user)
    )


def _explain_none(
    nodes: Mapping[str, TrainerList],
    found: Sequence[Candidate],
    matching: Sequence[Candidate],
    selection: TraceSelection,
) -> str:
    problems = sorted({f"{node}: {listed.problem}" for node, listed in nodes.items() if listed.problem})
    if matching:
        users = ", ".join(sorted({candidate.trainer.user for candidate in matching}))
        return f"These processes belong to {users}: only their user or an admin may trace them."
    if not nodes:
        return "No node of it is connected. See `vigie nodes`."
    if problems:
        return f"No trainer is registered. {'; '.join(problems[:3])}."
    if found:
        jobs = ", ".join(sorted({c.trainer.job or str(c.trainer.job_id) for c in found})[:8])
        return f"No registered trainer matches. {len(found)} are registered, of jobs {jobs}."
    what = f"job {selection.job}" if selection.job else "these nodes"
    return (
        f"No trainer of {what} is registered: its processes were started without {ENABLE}, or use no PyTorch."
        f" Add `export {ENABLE}` before they start (see `vigie trace enable`). For what they do now, run"
        " `vigie trace stacks`."
    )
