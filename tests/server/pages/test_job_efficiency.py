"""Ranks, sources and health: small parts of pages, with numbers that are missing or odd."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.model.binding import Binding
from vigie.server.cluster.bindings import StoredBinding
from vigie.server.pages.gpu_page import facts
from vigie.server.pages.humanize import DAY_MS, HOUR_MS
from vigie.server.pages.job_efficiency import ladder, receipt, span_of
from vigie.server.pages.job_ranks import FIELDS, ranks
from vigie.server.pages.node_page import WITHOUT, sources
from vigie.server.pages.query_batch import BatchResult
from vigie.server.pages.result_table import SeriesRow
from vigie.server.pages.snapshot import Snapshot
from vigie.server.pages.user_page import STEP_MS, days_of

NOW = 1_700_000_000_000
NONE = BatchResult({}, {})


def row(value: float, *labels: str) -> SeriesRow:
    return SeriesRow(labels, [NOW], [value])


def snapshot(**questions: list[SeriesRow]) -> Snapshot:
    return Snapshot(NOW, BatchResult(questions, {}), {}, [], [], [], live=True, missing="")


def ranked(clocks: Sequence[float | None]) -> list[dict[str, object]]:
    rows = [
        row(clock, "vigie_gpu_clock_hertz", "n1", str(n))
        for n, clock in enumerate(clocks)
        if clock is not None
    ]
    return ranks(snapshot(plain=rows), [("n1", str(n)) for n in range(len(clocks))], NONE)[0]


def test_rank_that_is_far_from_the_middle_comes_first_and_says_by_what() -> None:
    first, *others = ranked([1980e6, 1980e6, 1095e6, 1980e6])
    assert (first["rank"], first["odd"]) == (2, ["clock"])
    assert all(other["odd"] == [] for other in others)


def test_ranks_that_differ_by_design_are_not_odd() -> None:
    assert all(one["odd"] == [] for one in ranked([1.0, 0.85, 0.7, 0.55]))


def test_small_differences_of_alike_ranks_are_not_odd() -> None:
    assert all(one["odd"] == [] for one in ranked([100.0, 100.0, 100.0, 105.0]))


def test_rank_without_a_value_is_neither_zero_nor_odd() -> None:
    rows = ranked([1980e6, None, 1980e6])
    assert next(one for one in rows if one["rank"] == 1)["clock"] is None
    assert all(one["odd"] == [] for one in rows)


@given(st.lists(st.none() | st.floats(0, 1e12), max_size=12))
def test_every_rank_has_a_row_with_every_field(clocks: list[float | None]) -> None:
    rows = ranked(clocks)
    assert sorted(int(str(one["rank"])) for one in rows) == list(range(len(clocks)))
    assert all(set(FIELDS) <= one.keys() and 0 <= float(str(one["oddness"])) <= 99 for one in rows)


def test_source_is_told_with_its_reason_its_cost_and_trouble_first() -> None:
    found = BatchResult(
        {
            "success": [row(1, "cpu"), row(0, "zfs"), row(0, "nfs"), row(0, "xfs"), row(1, "nvme")],
            "duration": [row(0.25, "cpu")],
            "age": [row(900, "nvme")],
            "outcome": [
                row(1, "zfs", "error", "garbage in line 3"),
                row(1, "nfs", "unavailable", "no mount"),
            ],
        },
        {},
    )
    assert [tuple(one.values()) for one in sources(found)] == [
        ("zfs", "error", "garbage in line 3", None),
        ("nvme", "stale", "last read 900 s ago", None),
        ("cpu", "ok", "", 0.25),
        ("nfs", "unavailable", "no mount", None),
        ("xfs", "unavailable", WITHOUT, None),
    ]


def test_health_that_nobody_tells_is_unknown_and_bad_health_says_what_to_do() -> None:
    unknown = {one["label"]: one for one in facts(NONE)}
    assert {one["state"] for one in unknown.values()} == {"unknown"}
    assert all(one["value"] is None and one["why"] for one in unknown.values())
    told = facts(BatchResult({"rows_pending": [row(1)], "links": [row(4)], "links_up": [row(3)]}, {}))
    states = {one["label"]: one["state"] for one in told}
    assert states["Row remap pending"] == "critical"
    assert states["NVLinks up"] == "warning"


@given(st.integers(0, 10**9), st.integers(0, 10**12))
def test_life_of_a_job_is_looked_at_a_bounded_number_of_times(start: int, length: int) -> None:
    span = span_of(start, start + length)
    assert span.start <= span.end == start + length
    assert (span.end - span.start) // span.step <= 241
    assert span.step >= 60_000


def test_step_of_the_ladder_that_is_absent_costs_nothing_and_says_why() -> None:
    found = BatchResult({"busy": [SeriesRow(("n1", "0"), [0, 60_000], [0.5, 0.5])]}, {})
    now: dict[str, float | None] = {"held": 1, "process": None, "busy": 0.5, "sm": None, "tensor": None}
    steps = {one["key"]: one for one in ladder(now, [("n1", "0")], found, 3_600_000)}
    assert steps["process"]["lost_gpu_hours"] is None
    assert steps["process"]["reason"]
    assert steps["busy"]["lost_gpu_hours"] == pytest.approx(1.0)
    assert steps["sm"]["lost_gpu_hours"] is None


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
    rows = {row["label"]: row for row in receipt([here], 3 * HOUR_MS, found, HOUR_MS)}
    told = {label: row["value"] for label, row in rows.items() if row["value"] is not None}
    assert told == {
        "GPU-hours held": 3.0,
        "of them measured": 2.0,
        "busy with kernels": 1.5,
        "energy of its GPUs": 1.2,
    }
    assert "profiling" in rows["tensor cores active"]["reason"]
    silent = receipt([here], HOUR_MS, BatchResult({}, {}), HOUR_MS)
    assert [row["value"] for row in silent] == [1.0, *[None] * 6]
    assert all(row["reason"] for row in silent[1:])


def test_a_day_has_as_many_worked_hours_as_held_ones_when_the_gpu_was_always_busy() -> None:
    midnight = NOW // DAY_MS * DAY_MS
    at_ms = midnight + 6 * HOUR_MS
    held = [StoredBinding(1, "n1", Binding("gpu:0", "job", "7", midnight, user="alice"))]
    moments = list(range(midnight, at_ms + 1, STEP_MS))
    busy = BatchResult({"worked": [SeriesRow((), moments, [1.0] * len(moments))]}, {})
    assert {key: days_of(at_ms, held, busy)[-1][key] for key in ("held", "worked")} == {
        "held": 6.0,
        "worked": 6.0,
    }
