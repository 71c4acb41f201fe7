"""Two traces of the same program: what became faster, what slower."""

from __future__ import annotations

from vigie.wire.api.trace_reports import OperatorTime, TimeChange, TraceComparison, TraceSummary

MAX_ROWS = 20


def compare_traces(before: TraceSummary, after: TraceSummary) -> TraceComparison:
    """Return what changed, largest change first."""
    per_step = before.steps is not None and after.steps is not None
    scales = (_scale(before, per_step), _scale(after, per_step))
    shares = _pair(
        {s.kind: s.seconds for s in before.shares}, {s.kind: s.seconds for s in after.shares}, scales
    )
    return TraceComparison(
        "step" if per_step else "second",
        _describe(before, after),
        shares,
        _pair_operators(before.operators, after.operators, scales),
        _pair_operators(before.kernels, after.kernels, scales),
    )


def _scale(summary: TraceSummary, per_step: bool) -> float:
    """Return what turns seconds of the window into seconds of one step or of one second."""
    if per_step and summary.steps is not None:
        return summary.steps.median_seconds / summary.window_seconds
    return 1 / summary.window_seconds


def _pair(before: dict[str, float], after: dict[str, float], scales: tuple[float, float]) -> list[TimeChange]:
    rows = [
        TimeChange(
            name,
            before[name] * scales[0] if name in before else None,
            after[name] * scales[1] if name in after else None,
        )
        for name in before | after
    ]
    return sorted(rows, key=lambda row: -abs(row.change_seconds))[:MAX_ROWS]


def _pair_operators(
    before: list[OperatorTime], after: list[OperatorTime], scales: tuple[float, float]
) -> list[TimeChange]:
    return _pair(
        {operator.name: operator.self_seconds for operator in before},
        {operator.name: operator.self_seconds for operator in after},
        scales,
    )


def _describe(before: TraceSummary, after: TraceSummary) -> str:
    if before.steps is None or after.steps is None:
        return "Not both traces have steps: times are per second of the trace."
    old, new = before.steps.median_seconds, after.steps.median_seconds
    if abs(new - old) < 0.02 * old:
        return f"A step takes as long as before: {new * 1e3:.1f} ms."
    word = "shorter" if new < old else "longer"
    return f"A step is {abs(new - old) / old:.0%} {word}: {new * 1e3:.1f} ms, before {old * 1e3:.1f} ms."
