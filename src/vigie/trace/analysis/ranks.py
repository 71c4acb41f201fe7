"""Which rank of a job differs, and what it does differently.

Ranks wait for each other in every collective, so all steps take equally long and the slow rank is the one
that waits least. Comparing time spent waiting needs no common clock; comparing start times does.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from vigie.trace.analysis.summary import (
    COMMUNICATION,
    COMPUTE,
    COPY,
    DATA,
    LAUNCH,
    OUTSIDE,
    SYNC,
)
from vigie.wire.api.trace_reports import RankComparison, TraceSummary

LATE_RATIO = 0.7  # of the others' median time in communication
BOUND_RATIO = 0.5  # of the window in communication on all ranks: the network or the message size
WAIT_RATIO = 0.3  # of the window in one kind of waiting on all ranks: worth a sentence
ALIKE_RATIO = 0.5  # of operators in common; ranks below it run another part of the model
CAUSES = {
    COMPUTE: "in compute",
    DATA: "in the data loader",
    COPY: "in copies",
    SYNC: "waiting for the GPU",
    LAUNCH: "launching kernels",
    OUTSIDE: "outside PyTorch operators (data loading, Python code, sleeping)",
}


def compare_ranks(summaries: Mapping[int, TraceSummary]) -> RankComparison:
    """Name the rank that the others wait for, if there is one."""
    different = _find_different(summaries)
    alike = {rank: summary for rank, summary in summaries.items() if rank not in different}
    if len(alike) < 2:
        return RankComparison("Only one rank to look at: nothing to compare.", different_ranks=different)
    slow = _find_slow(alike)
    if slow is None:
        return RankComparison(_describe_even(alike), different_ranks=different)
    peers = {rank: summary for rank, summary in alike.items() if rank != slow}
    cause, excess = _find_cause(alike[slow], list(peers.values()))
    waited = median(summary.communication_seconds for summary in peers.values())
    typical = min(peers, key=lambda rank: abs(peers[rank].communication_seconds - waited))
    sentence = (
        f"Rank {slow} is likely the straggler: it spends {_ms(alike[slow].communication_seconds)} in"
        f" communication, its peers {_ms(waited)}."
    )
    if cause is not None:
        sentence += f" It spends {_ms(excess)} more than its peers {CAUSES[cause]}."
    return RankComparison(sentence, slow, cause, excess if cause else None, different, typical)


def _find_different(summaries: Mapping[int, TraceSummary]) -> list[int]:
    """Return the ranks that share too few operators with most of the others: another pipeline stage."""
    names = {rank: {operator.name for operator in s.operators} for rank, s in summaries.items()}
    return [
        rank
        for rank, own in names.items()
        if own
        and sum(_overlap(own, other) < ALIKE_RATIO for r, other in names.items() if r != rank) * 2
        >= len(names)
    ]


def _overlap(own: set[str], other: set[str]) -> float:
    """Return how much of the shorter list is in the longer: extra operators make no other part."""
    shorter = min(len(own), len(other))
    return len(own & other) / shorter if shorter else 1.0


def _find_slow(summaries: Mapping[int, TraceSummary]) -> int | None:
    least = min(summaries, key=lambda rank: summaries[rank].communication_seconds)
    others = [summary for rank, summary in summaries.items() if rank != least]
    waited = median(summary.communication_seconds for summary in others)
    if not waited or summaries[least].communication_seconds >= LATE_RATIO * waited:
        return None
    slices = summaries[least].communication_slices
    medians = [median(s.communication_slices[i] for s in others) for i in range(len(slices))]
    busy = [(own, other) for own, other in zip(slices, medians, strict=True) if other]
    lower = sum(own < other for own, other in busy)
    return least if lower * 2 > len(busy) else None


def _find_cause(slow: TraceSummary, peers: list[TraceSummary]) -> tuple[str | None, float]:
    """Return the kind of work that the slow rank has most more of than its peers."""
    excess = {
        kind: slow.seconds_of(kind) - median(peer.seconds_of(kind) for peer in peers) for kind in CAUSES
    }
    cause = max(excess, key=lambda kind: excess[kind])
    return (cause, excess[cause]) if excess[cause] > 0 else (None, 0.0)


def _describe_even(summaries: Mapping[int, TraceSummary]) -> str:
    ratio = median(s.communication_seconds / s.window_seconds for s in summaries.values())
    if ratio < BOUND_RATIO:
        return f"No rank stands out. Communication takes {ratio:.0%} of the time.{_describe_wait(summaries)}"
    exposed = median(s.seconds_of(COMMUNICATION) / s.window_seconds for s in summaries.values())
    return (
        f"No rank stands out. Communication takes {ratio:.0%} of the time on all ranks ({exposed:.0%} not"
        " hidden behind compute): likely the network or the message size."
    )


def _describe_wait(summaries: Mapping[int, TraceSummary]) -> str:
    """Return what keeps all ranks from computing, if that takes much of their time."""
    ratios = {
        kind: median(s.seconds_of(kind) / s.window_seconds for s in summaries.values())
        for kind in CAUSES
        if kind != COMPUTE
    }
    kind = max(ratios, key=lambda kind: ratios[kind])
    return f" All ranks spend {ratios[kind]:.0%} {CAUSES[kind]}." if ratios[kind] >= WAIT_RATIO else ""


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"
