"""Traces and stacks as text: the verdict first, then the ranks."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.views.text.times import since
from vigie.wire.api.trace_reports import OperatorTime, StackGroup, TraceSummary
from vigie.wire.api.trace_session import RankTrace, TraceSession
from vigie.wire.api.traces import StackAnswer, TraceDetail, TrainerRows

BAR = 30
TOP = 8
LETTERS = {
    "compute": "#",
    "communication": "=",
    "copy": "c",
    "data": "d",
    "sync": "s",
    "launch": "l",
    "outside": ".",
    "between-kernels": " ",
}


def format_sessions(sessions: Sequence[TraceSession]) -> str:
    if not sessions:
        return "No traces yet. Take one: vigie trace start --job ID"
    rows = [("TRACE", "STATE", "JOB", "RANKS", "AGE", "VERDICT")]
    for session in sessions:
        collected = sum(rank.state == "collected" for rank in session.ranks)
        rows.append(
            (
                session.id[:8],
                session.state,
                session.selection.job or "-",
                f"{collected} of {len(session.ranks)}",
                since(session.created_ms),
                session.verdict or "-",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row[:5], widths, strict=True)), row[5]])
        for row in rows
    )


def format_trainers(rows: TrainerRows) -> str:
    if not rows.trainers:
        return "\n".join(["No trainers are registered. See `vigie trace enable`.", *rows.problems])
    lines = [
        f"{row.node}:{row.pid}  rank {row.rank if row.rank is not None else '-'}  job {row.job or '-'}"
        f"  {row.user}{'  tracing' if row.is_busy else ''}"
        for row in rows.trainers
    ]
    return "\n".join([*lines, *rows.problems])


def format_detail(detail: TraceDetail) -> str:
    session = detail.session
    collected = sum(rank.state == "collected" for rank in session.ranks)
    lines = [f"Trace {session.id}: {session.state}, {collected} of {len(session.ranks)} files collected."]
    if session.verdict:
        lines.append(session.verdict)
    lines += session.remarks
    for rank in sorted(session.ranks, key=lambda r: (r.rank is None, r.rank or 0)):
        lines += _format_rank(rank, detail.summaries.get(rank.label))
    shown = _choose_summary(detail)
    if shown is not None:
        label, summary = shown
        lines += ["", f"Operators of {label} by their own time:", *_format_operators(summary.operators)]
        if summary.kernels:
            lines += ["", f"Kernels of {label}:", *_format_operators(summary.kernels)]
    return "\n".join(lines)


def _choose_summary(detail: TraceDetail) -> tuple[str, TraceSummary] | None:
    """Return the slow rank's, else the first."""
    slow = detail.comparison.slow_rank if detail.comparison is not None else None
    label = f"rank{slow}" if slow is not None else next(iter(sorted(detail.summaries)), "")
    return (label, detail.summaries[label]) if label in detail.summaries else None


def _format_rank(rank: RankTrace, summary: TraceSummary | None) -> list[str]:
    place = f"{rank.label:<8} {rank.node}:{rank.pid}"
    if summary is None:
        return [f"  {place}  {rank.state}{': ' + rank.reason if rank.reason else ''}"]
    bar = "".join(LETTERS.get(s.kind, "?") * round(s.ratio * BAR) for s in summary.shares)[:BAR]
    shares = ", ".join(f"{s.kind} {s.ratio:.0%}" for s in summary.shares if s.ratio >= 0.005)
    note = [f"      {rank.note}"] if rank.note else []
    return [f"  {place}  [{bar:<{BAR}}] {shares}", *note]


def _format_operators(operators: Sequence[OperatorTime]) -> list[str]:
    return [
        f"  {operator.self_seconds * 1e3:>9.2f} ms  {operator.count:>6}x  {operator.name[:80]}"
        for operator in operators[:TOP]
    ]


def format_stacks(answer: StackAnswer) -> str:
    lines = [answer.report.sentence]
    if answer.report.shared_calls:
        lines.append(f"All: {' > '.join(frame.function for frame in answer.report.shared_calls)}")
    for group in answer.report.groups:
        lines += ["", *_format_group(group)]
    lines += ["", *answer.report.errors] if answer.report.errors else []
    return "\n".join(lines)


def _format_group(group: StackGroup) -> list[str]:
    ranks = ", ".join(map(str, group.ranks))
    moving = "does not move" if group.is_stuck else "moving"
    wait = f", {group.wait}" if group.wait else ""
    lines = [f"rank {ranks}: {group.activity} ({moving}{wait})"]
    lines += [f"    {frame.function}  {frame.file}:{frame.line}" for frame in group.calls]
    return lines + [f"    worker: {worker}" for worker in group.workers]
