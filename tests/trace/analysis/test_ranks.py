"""The slow rank is the one that waits least, and the reason is what it has more of."""

import pytest

from tests.trace.analysis.traces import event, summarize, summarize_recorded, window
from vigie.trace.analysis.ranks import compare_ranks
from vigie.wire.api.trace_reports import TraceSummary


def rank(wait: float, compute: float = 10, name: str = "aten::mm", data: float = 0) -> TraceSummary:
    """Return a rank of ten steps, each with so many milliseconds of each kind."""
    events = []
    for step in range(10):
        start = step * 100_000
        events += [
            event("cpu_op", name, start, compute * 1000),
            event("user_annotation", "gloo:all_reduce", start + compute * 1000, wait * 1000, 9),
            event("user_annotation", "enumerate(DataLoader)#x", start + (compute + wait) * 1000, data * 1000),
        ]
    return summarize(window(1_000_000), *events)


@pytest.mark.parametrize(
    ("name", "slow", "cause"),
    [
        ("inprogram-slow-compute", 2, "compute"),
        ("ondemand-duration-slow-data", 2, "outside"),
        ("ondemand-iterations-slow-compute", 1, "compute"),
    ],
)
def test_recorded_sets_name_the_slow_rank_and_its_cause(name: str, slow: int, cause: str) -> None:
    comparison = compare_ranks(summarize_recorded(name))
    assert (comparison.slow_rank, comparison.cause) == (slow, cause)
    assert comparison.peer_rank not in (None, slow)


def test_rank_that_loads_data_longer_is_named() -> None:
    comparison = compare_ranks({0: rank(60), 1: rank(60), 2: rank(20, data=40), 3: rank(60)})
    assert (comparison.slow_rank, comparison.cause) == (2, "data")
    assert "in the data loader" in comparison.sentence


def test_equal_ranks_name_nobody() -> None:
    comparison = compare_ranks({i: rank(30 + i, compute=60) for i in range(4)})
    assert comparison.slow_rank is None
    assert comparison.sentence == "No rank stands out. Communication takes 32% of the time."


def test_wait_that_all_ranks_share_is_named() -> None:
    comparison = compare_ranks({i: rank(10, compute=25, data=60) for i in range(4)})
    assert comparison.slow_rank is None
    assert comparison.sentence.endswith("All ranks spend 60% in the data loader.")


def test_communication_that_fills_the_time_of_all_points_at_the_network() -> None:
    comparison = compare_ranks({i: rank(70) for i in range(4)})
    assert comparison.slow_rank is None
    assert "network or the message size" in comparison.sentence


def test_stages_of_a_pipeline_are_not_compared_with_each_other() -> None:
    comparison = compare_ranks({0: rank(60), 1: rank(60), 2: rank(60), 3: rank(5, name="aten::embedding")})
    assert comparison.different_ranks == [3]
    assert comparison.slow_rank is None


def test_one_rank_has_nothing_to_compare() -> None:
    assert "nothing to compare" in compare_ranks({0: rank(10)}).sentence
