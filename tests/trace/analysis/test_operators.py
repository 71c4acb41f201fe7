"""An operator's own time is its length without what it calls."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.trace.analysis.traces import event, summarize, window
from vigie.trace.analysis.operators import measure_self_times


def nested(draw: st.DrawFn, start: int, end: int, depth: int) -> list[tuple[int, int, int]]:
    """Return (start, end, own time) of calls that lie within each other."""
    calls = []
    while start < end and depth and draw(st.booleans()):
        begin = draw(st.integers(start, end - 1))
        stop = draw(st.integers(begin + 1, end))
        inner = nested(draw, begin, stop, depth - 1)
        direct = [c for c in inner if not any(o is not c and o[0] <= c[0] and c[1] <= o[1] for o in inner)]
        calls += [(begin, stop, stop - begin - sum(b - a for a, b, _ in direct)), *inner]
        start = stop
    return calls


@st.composite
def call_trees(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    return nested(draw, 0, 200, 4)


@given(call_trees())
def test_self_time_is_without_direct_children(calls: list[tuple[int, int, int]]) -> None:
    unique = list(dict.fromkeys((a, b) for a, b, _ in calls))
    if len(unique) < len(calls):
        return  # a call as long as its caller: either may be the outer one
    order = sorted(calls, key=lambda c: (c[0], -c[1]))
    starts, ends = (np.array([c[i] for c in order], np.int64) for i in (0, 1))
    assert list(measure_self_times(starts, ends)) == [c[2] for c in order]


def test_operators_are_ranked_by_their_own_time_over_all_threads() -> None:
    summary = summarize(
        window(100),
        event("cpu_op", "aten::linear", 0, 50),
        event("cpu_op", "aten::addmm", 5, 40),
        event("cpu_op", "aten::addmm", 60, 20, 8),
        event("cpu_op", "aten::late", 95, 50),  # reaches beyond the window
    )
    assert [(o.name, o.count, round(o.self_seconds * 1e6)) for o in summary.operators] == [
        ("aten::addmm", 2, 60),
        ("aten::linear", 1, 10),
        ("aten::late", 1, 5),
    ]


def test_kernels_are_ranked_by_time() -> None:
    summary = summarize(window(100), *(event("kernel", f"k{i % 2}", i * 10, 1 + i % 2, 3) for i in range(6)))
    assert [(k.name, k.count) for k in summary.kernels] == [("k1", 3), ("k0", 3)]
