"""The ranks of a job next to each other, with values that are missing or odd."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from vigie.server.pages.job_ranks import build_ranks
from vigie.server.pages.query_batch import BatchResult
from vigie.server.pages.result_table import SeriesRow
from vigie.server.pages.snapshot import Snapshot
from vigie.wire.api.rows import RankRow

NOW = 1_700_000_000_000


def row(value: float, *labels: str) -> SeriesRow:
    return SeriesRow(labels, [NOW], [value])


def rank(clocks: Sequence[float | None]) -> list[RankRow]:
    rows = [
        row(clock, "vigie_gpu_clock_hertz", "n1", str(n))
        for n, clock in enumerate(clocks)
        if clock is not None
    ]
    snapshot = Snapshot(NOW, BatchResult({"plain": rows}, {}), {}, [], [], [], live=True, missing="")
    return build_ranks(snapshot, [("n1", str(n)) for n in range(len(clocks))], BatchResult({}, {}))[0]


def test_rank_that_is_far_from_the_middle_comes_first_and_says_by_what() -> None:
    first, *others = rank([1980e6, 1980e6, 1095e6, 1980e6])
    assert (first.rank, first.odd) == (2, ["clock"])
    assert all(other.odd == [] for other in others)


def test_ranks_that_differ_by_design_are_not_odd() -> None:
    assert all(one.odd == [] for one in rank([1.0, 0.85, 0.7, 0.55]))


def test_small_differences_of_alike_ranks_are_not_odd() -> None:
    assert all(one.odd == [] for one in rank([100.0, 100.0, 100.0, 105.0]))


def test_rank_without_a_value_is_neither_zero_nor_odd() -> None:
    rows = rank([1980e6, None, 1980e6])
    assert next(one for one in rows if one.rank == 1).clock is None
    assert all(one.odd == [] for one in rows)


@given(st.lists(st.none() | st.floats(0, 1e12), max_size=12))
def test_every_rank_has_a_row_with_every_field(clocks: list[float | None]) -> None:
    rows = rank(clocks)
    assert sorted(one.rank for one in rows) == list(range(len(clocks)))
    assert all(0 <= one.oddness <= 99 for one in rows)
