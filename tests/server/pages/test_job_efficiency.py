"""The ladder and the receipt of a job, with measurements that are missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.server.pages.humanize import HOUR_MS
from vigie.server.pages.job_efficiency import build_receipt, build_steps, sample_times
from vigie.server.pages.query_batch import BatchResult
from vigie.server.pages.result_table import SeriesRow
from vigie.wire.api.rows import JobLadder


@given(st.integers(0, 10**9), st.integers(0, 10**12))
def test_life_of_a_job_is_looked_at_a_bounded_number_of_times(start: int, length: int) -> None:
    span = sample_times(start, start + length)
    assert span.start <= span.end == start + length
    assert (span.end - span.start) // span.step <= 241
    assert span.step >= 60_000


def test_step_of_the_ladder_that_is_absent_costs_nothing_and_says_why() -> None:
    found = BatchResult({"busy": [SeriesRow(("n1", "0"), [0, 60_000], [0.5, 0.5])]}, {})
    now = JobLadder(held=1, busy=0.5)
    steps = {one.key: one for one in build_steps(now, [("n1", "0")], found, 3_600_000)}
    assert steps["process"].lost_gpu_hours is None
    assert steps["process"].reason
    assert steps["busy"].lost_gpu_hours == pytest.approx(1.0)
    assert steps["sm"].lost_gpu_hours is None


def test_receipt_counts_what_was_held_measured_used_and_drawn_and_says_what_nobody_told() -> None:
    here = ("n1", "0")
    others = SeriesRow(("n1", "1"), [0], [1.0])  # of another job
    found = BatchResult(
        {
            "busy": [SeriesRow(here, [0, 1], [0.5, 1.0]), others],
            "power": [SeriesRow(here, [0, 1], [500, 700])],
        },
        {},
    )
    rows = {row.label: row for row in build_receipt([here], 3 * HOUR_MS, found, HOUR_MS)}
    told = {label: row.value for label, row in rows.items() if row.value is not None}
    assert told == {
        "GPU-hours held": 3.0,
        "of them measured": 2.0,
        "busy with kernels": 1.5,
        "energy of its GPUs": 1.2,
    }
    assert "profiling" in rows["tensor cores active"].reason
    silent = build_receipt([here], HOUR_MS, BatchResult({}, {}), HOUR_MS)
    assert [row.value for row in silent] == [1.0, *[None] * 6]
    assert all(row.reason for row in silent[1:])
