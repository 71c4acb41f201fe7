"""Steps of a trace, by the profiler's marks or by the optimizer."""

import pytest

from tests.trace.analysis.traces import event, summarize, summarize_recorded, window


def test_profiler_steps_are_used_where_they_are() -> None:
    for summary in summarize_recorded("inprogram-slow-compute").values():
        assert summary.steps is not None
        assert (summary.steps.mark, summary.steps.count) == ("ProfilerStep", 4)


def test_on_demand_traces_have_the_optimizer_s_steps() -> None:
    for summary in summarize_recorded("ondemand-iterations-slow-compute").values():
        assert summary.steps is not None
        assert (summary.steps.mark, summary.steps.count) == ("Optimizer.step", 5)


def test_step_is_from_one_optimizer_step_to_the_next() -> None:
    marks = [event("user_annotation", "Optimizer.step#SGD.step", start, 2) for start in (10, 40, 80)]
    other = [event("user_annotation", "Optimizer.step#Adam.step", 50, 2)]
    steps = summarize(window(100), *marks, *other).steps
    assert steps is not None
    assert steps.count == 2
    assert [steps.min_seconds, steps.max_seconds] == pytest.approx([30e-6, 40e-6])


def test_inference_has_no_steps() -> None:
    assert summarize(window(10), event("cpu_op", "aten::mm", 0, 5)).steps is None
