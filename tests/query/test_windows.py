from __future__ import annotations

import numpy as np
import pytest

from tests.query.series import MINUTE, engine, matrix, storage, vector
from vigie.model.nan import ABSENT, NAN, STALE
from vigie.query.engine import Engine
from vigie.query.semantics import Semantics
from vigie.query.storage import SeriesGroup
from vigie.simulation.memory_storage import MemoryStorage

TEN = {"x{}": [float(minute) for minute in range(10)]}


@pytest.mark.parametrize(
    ("semantics", "count"), [(Semantics.PROMETHEUS_3, 2.0), (Semantics.PROMETHEUS_2, 3.0)]
)
def test_sample_at_the_start_of_a_range_counts_only_in_prometheus_2(
    semantics: Semantics, count: float
) -> None:
    asked = engine(TEN, semantics=semantics).instant("count_over_time(x[2m])", 5 * MINUTE)
    assert vector(asked) == {"{}": count}


@pytest.mark.parametrize(
    ("semantics", "there"), [(Semantics.PROMETHEUS_3, False), (Semantics.PROMETHEUS_2, True)]
)
def test_sample_of_exactly_five_minutes_ago_is_seen_only_by_prometheus_2(
    semantics: Semantics, there: bool
) -> None:
    asked = engine({"x{}": [1.0]}, semantics=semantics)
    assert bool(asked.instant("x", 5 * MINUTE).series) == there
    assert asked.instant("x", 5 * MINUTE - 1).series


@pytest.mark.parametrize(
    ("semantics", "count"), [(Semantics.PROMETHEUS_3, 4.0), (Semantics.PROMETHEUS_2, 5.0)]
)
def test_subquery_starts_after_or_at_its_aligned_begin(semantics: Semantics, count: float) -> None:
    asked = engine(TEN, semantics=semantics).instant("count_over_time(x[2m:30s])", 5 * MINUTE)
    assert vector(asked) == {"{}": count}


def test_subquery_steps_are_aligned_whatever_the_time_of_the_query() -> None:
    asked = engine(TEN).instant("x[2m:1m]", 5 * MINUTE + 1234)
    assert matrix(asked) == {"x{}": [(4 * MINUTE, 4.0), (5 * MINUTE, 5.0)]}


def test_subquery_without_step_takes_a_minute() -> None:
    assert vector(engine(TEN).instant("count_over_time(x[5m:])", 6 * MINUTE)) == {"{}": 5.0}


def test_stale_marker_ends_a_series_at_once_and_is_no_sample_of_a_range() -> None:
    asked = engine({"x{}": [1.0, 2.0, STALE]})
    assert asked.instant("x", 2 * MINUTE).series == []
    assert vector(asked.instant("x", 2 * MINUTE - 1)) == {"x{}": 2.0}
    assert vector(asked.instant("sum_over_time(x[5m])", 3 * MINUTE)) == {"{}": 3.0}


def test_real_nan_is_a_sample() -> None:
    asked = engine({"x{}": [1.0, NAN]})
    assert np.isnan(vector(asked.instant("x", MINUTE))["x{}"])
    assert vector(asked.instant("count_over_time(x[5m])", MINUTE)) == {"{}": 2.0}


def test_absent_cells_are_holes_that_rows_of_a_group_need_not_share() -> None:
    labels = [{"__name__": "x", "a": str(row)} for row in range(4)]
    values = np.array([[1, 2, 3], [1, ABSENT, 3], [ABSENT, ABSENT, ABSENT], [ABSENT, 2, STALE]])
    asked = Engine(MemoryStorage([SeriesGroup(labels, np.array([0, MINUTE, 2 * MINUTE]), values)]))
    assert vector(asked.instant("count_over_time(x[5m])", 2 * MINUTE)) == {
        '{a="0"}': 3.0,
        '{a="1"}': 2.0,
        '{a="3"}': 1.0,
    }
    assert vector(asked.instant("x", MINUTE)) == {'x{a="0"}': 2.0, 'x{a="1"}': 1.0, 'x{a="3"}': 2.0}


def test_series_goes_on_from_one_group_to_the_next() -> None:
    first = SeriesGroup(
        [{"__name__": "x", "a": "1"}, {"__name__": "x", "a": "2"}], np.array([0]), np.array([[1.0], [2.0]])
    )
    second = SeriesGroup([{"__name__": "x", "a": "2"}], np.array([MINUTE]), np.array([[3.0]]))
    asked = Engine(MemoryStorage([first, second]))
    assert vector(asked.instant("sum_over_time(x[5m])", MINUTE)) == {'{a="1"}': 1.0, '{a="2"}': 5.0}


def test_offset_and_at_move_the_time_that_is_looked_at() -> None:
    asked = engine(TEN)
    assert vector(asked.instant("x offset 2m", 5 * MINUTE)) == {"x{}": 3.0}
    assert vector(asked.instant("x offset -2m", 5 * MINUTE)) == {"x{}": 7.0}
    assert vector(asked.instant("x @ 120 offset 1m", 5 * MINUTE)) == {"x{}": 1.0}


def test_start_and_end_are_those_of_the_query_also_in_a_subquery() -> None:
    asked = engine(TEN)
    points = matrix(asked.range("x @ end() - x @ start()", 2 * MINUTE, 8 * MINUTE + 1, 5 * MINUTE))
    assert points == {"{}": [(2 * MINUTE, 6.0), (7 * MINUTE, 6.0)]}
    points = matrix(asked.range("max_over_time((x @ end())[3m:1m])", 2 * MINUTE, 8 * MINUTE, 6 * MINUTE))
    assert points == {"{}": [(2 * MINUTE, 8.0), (8 * MINUTE, 8.0)]}


def test_predict_linear_at_a_fixed_time_predicts_from_each_step() -> None:
    points = matrix(engine(TEN).range("predict_linear(x[3m] @ 240, 60)", 5 * MINUTE, 6 * MINUTE, MINUTE))
    assert [value for _, value in points["{}"]] == pytest.approx([6.0, 7.0])


def test_range_selector_alone_gives_its_samples() -> None:
    asked = engine(TEN).instant("x[2m]", 5 * MINUTE)
    assert asked.kind == "matrix"
    assert matrix(asked) == {"x{}": [(4 * MINUTE, 4.0), (5 * MINUTE, 5.0)]}


def test_store_tells_names_and_values_of_labels() -> None:
    kept = storage({'x{a="1"}': [1.0], 'y{b="2"}': [None, 1.0], 'z{c="3"}': [ABSENT]})
    assert kept.label_names([], 0, MINUTE) == ["__name__", "a", "b"]
    assert kept.label_values("__name__", [], 0, 0) == ["x"]
    assert kept.series([], MINUTE, MINUTE) == [{"__name__": "y", "b": "2"}]
