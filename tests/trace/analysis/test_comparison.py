"""Two traces of a program are compared step by step."""

from tests.trace.analysis.traces import event, summarize, window
from vigie.trace.analysis.comparison import compare_traces
from vigie.wire.api.trace_reports import TraceSummary


def program(step_ms: int, *, name: str = "aten::mm") -> TraceSummary:
    events = []
    for step in range(5):
        start = step * step_ms * 1000
        events += [
            event("cpu_op", name, start, step_ms * 900),
            event("user_annotation", "Optimizer.step#SGD.step", start + step_ms * 950, 10),
        ]
    return summarize(window(5 * step_ms * 1000), *events)


def test_shorter_step_is_said_with_both_times() -> None:
    comparison = compare_traces(program(20), program(10))
    assert comparison.sentence == "A step is 50% shorter: 10.0 ms, before 20.0 ms."
    assert comparison.per == "step"
    [row] = comparison.operators
    assert (round(row.before_seconds or 0, 4), round(row.after_seconds or 0, 4)) == (0.018, 0.009)


def test_operator_that_is_gone_is_absent_not_zero() -> None:
    rows = {row.name: row for row in compare_traces(program(10), program(10, name="aten::bmm")).operators}
    assert rows["aten::mm"].after_seconds is None
    assert rows["aten::bmm"].before_seconds is None


def test_traces_without_steps_are_compared_by_the_second() -> None:
    plain = summarize(window(1000), event("cpu_op", "aten::mm", 0, 500))
    comparison = compare_traces(plain, plain)
    assert comparison.per == "second"
