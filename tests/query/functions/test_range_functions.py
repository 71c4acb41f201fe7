from __future__ import annotations

import math
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.query.series import MINUTE, engine, vector
from vigie.query.errors import ExecutionError
from vigie.query.semantics import Semantics

GAUGE = [3.0, 1.0, 4.0, 1.0, 5.0]  # at 0 to 4 minutes; (0, 4m] holds all but the first


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sum_over_time(x[4m])", 11.0),
        ("avg_over_time(x[4m])", 2.75),
        ("min_over_time(x[4m])", 1.0),
        ("max_over_time(x[4m])", 5.0),
        ("count_over_time(x[4m])", 4.0),
        ("present_over_time(x[4m])", 1.0),
        ("quantile_over_time(0.5, x[4m])", 2.5),
        ("quantile_over_time(-1, x[4m])", -math.inf),
        ("quantile_over_time(1.1, x[4m])", math.inf),
        ("stdvar_over_time(x[4m])", 3.1875),
        ("stddev_over_time(x[4m])", math.sqrt(3.1875)),
        ("mad_over_time(x[4m])", 1.5),
        ("ts_of_first_over_time(x[4m])", 60.0),
        ("ts_of_last_over_time(x[4m])", 240.0),
        ("ts_of_min_over_time(x[4m])", 180.0),
        ("ts_of_max_over_time(x[4m])", 240.0),
        ("changes(x[4m])", 3.0),
        ("resets(x[4m])", 1.0),
        ("idelta(x[4m])", 4.0),
        ("irate(x[4m])", 4.0 / 60),
        ("irate(x[1m30s] offset 1m)", 1.0 / 60),
        ("delta(x[4m])", 4.0 * 240 / 180),
        ("deriv(x[4m])", (-1.5 * -1.75 + -0.5 * 1.25 + 0.5 * -1.75 + 1.5 * 2.25) / 5 / 60),
        ("predict_linear(x[4m], 60)", 2.75 + 0.9 * 2.5),
        ("double_exponential_smoothing(x[4m], 0.5, 0.5)", 5.25),
        ("holt_winters(x[4m], 0.5, 0.5)", 5.25),
    ],
)
def test_function_of_a_range_by_hand(query: str, expected: float) -> None:
    assert vector(engine({"x{}": GAUGE}).instant(query, 4 * MINUTE)) == {"{}": pytest.approx(expected)}


@pytest.mark.parametrize("function", ["last_over_time", "first_over_time"])
def test_name_survives_where_the_value_is_a_sample(function: str) -> None:
    value = {"last_over_time": 5.0, "first_over_time": 1.0}[function]
    assert vector(engine({"x{}": GAUGE}).instant(f"{function}(x[4m])", 4 * MINUTE)) == {"x{}": value}


@pytest.mark.parametrize("function", ["rate", "increase", "delta", "irate", "idelta", "deriv"])
def test_one_sample_has_no_slope(function: str) -> None:
    assert engine({"x{}": GAUGE}).instant(f"{function}(x[1m])", 4 * MINUTE).series == []


def test_rate_counts_what_was_there_before_a_reset() -> None:
    asked = engine({"x{}": [100.0, 110.0, 5.0, 15.0, 20.0]})
    # From 110 at 1 min: the reset adds 110, so it grew by 20 in 180 s, extrapolated to the range of 240 s.
    assert vector(asked.instant("increase(x[4m])", 4 * MINUTE)) == {"{}": pytest.approx(20.0 * 240 / 180)}
    assert vector(asked.instant("rate(x[4m])", 4 * MINUTE)) == {"{}": pytest.approx(20.0 / 180)}


@given(st.lists(st.integers(0, 5).map(float) | st.just(math.nan), min_size=8, max_size=40))
def test_many_resets_are_counted_as_few_are(values: list[float]) -> None:
    asked = engine({"x{a='1'}": values, "x{a='2'}": values[::-1]})
    end = len(values) * MINUTE
    with patch("vigie.query.functions.rates.MAX_RESET_COLUMNS", 0):
        many = asked.range("increase(x[5m])", 0, end, MINUTE)
    few = asked.range("increase(x[5m])", 0, end, MINUTE)
    assert [series.labels for series in few.series] == [series.labels for series in many.series]
    for one, other in zip(few.series, many.series, strict=True):
        assert one.values == pytest.approx(other.values, nan_ok=True)


def test_rate_extrapolates_by_half_an_interval_when_the_samples_end_early() -> None:
    asked = engine({"x{}": [None, None, None, 100.0, 160.0, 220.0]})
    # Samples at 3, 4, 5 min in (0, 10 min]: 120 in 120 s, and 30 s more on either side.
    assert vector(asked.instant("increase(x[10m])", 10 * MINUTE)) == {"{}": pytest.approx(120.0 * 180 / 120)}


@pytest.mark.parametrize(
    ("semantics", "back"), [(Semantics.PROMETHEUS_3, 30.0), (Semantics.PROMETHEUS_2, 45.0)]
)
def test_counter_near_zero_after_a_gap_is_carried_back_differently(semantics: Semantics, back: float) -> None:
    asked = engine({"x{}": [None, None, None, 45.0, 105.0]}, semantics=semantics)
    # It would have been zero 45 s before its first sample; half an interval is 30 s.
    grown = 60.0 * (60 + back) / 60
    assert vector(asked.instant("increase(x[4m])", 4 * MINUTE)) == {"{}": pytest.approx(grown)}


def test_rate_does_not_extrapolate_below_zero() -> None:
    asked = engine({"x{}": [None, 10.0, 70.0, 130.0]})
    # Zero lies 10 s before the first sample, the start of the range 60 s.
    assert vector(asked.instant("increase(x[3m])", 3 * MINUTE)) == {"{}": pytest.approx(120.0 * 130 / 120)}


def test_nan_is_the_least_and_the_greatest_only_if_alone() -> None:
    asked = engine({"x{}": [math.nan, math.nan, 2.0]})
    assert vector(asked.instant("min_over_time(x[3m])", 2 * MINUTE)) == {"{}": 2.0}
    assert math.isnan(vector(asked.instant("max_over_time(x[3m])", MINUTE))["{}"])
    assert vector(asked.instant("changes(x[3m])", 2 * MINUTE)) == {"{}": 1.0}


def test_line_through_equal_samples_is_level() -> None:
    asked = engine({"x{}": [7.0] * 5, "y{}": [math.inf] * 5})
    assert vector(asked.instant("predict_linear(x[4m], 1e9)", 4 * MINUTE)) == {"{}": 7.0}
    assert math.isnan(vector(asked.instant("deriv(y[4m])", 4 * MINUTE))["{}"])


def test_smoothing_factor_outside_its_range_is_an_error() -> None:
    with pytest.raises(ExecutionError, match="invalid smoothing factor"):
        engine({"x{}": GAUGE}).instant("double_exponential_smoothing(x[4m], 1, 0.5)", 4 * MINUTE)
    with pytest.raises(ExecutionError, match="invalid trend factor"):
        engine({"x{}": GAUGE}).instant("double_exponential_smoothing(x[4m], 0.5, 0)", 4 * MINUTE)


def test_smoothing_by_nothing_is_nothing() -> None:
    found = vector(engine({"x{}": GAUGE}).instant("holt_winters(x[4m], scalar(absent(x)), 0.5)", 4 * MINUTE))
    assert math.isnan(found["{}"])


def test_absence_over_time_carries_the_selected_labels() -> None:
    asked = engine({'x{a="1"}': GAUGE})
    assert vector(asked.instant('absent_over_time(x{a="2",b=~"c"}[4m])', 4 * MINUTE)) == {'{a="2"}': 1.0}
    assert asked.instant('absent_over_time(x{a="1"}[4m])', 4 * MINUTE).series == []
    assert vector(asked.instant('absent_over_time(x{a="2"}[4m:1m])', 4 * MINUTE)) == {"{}": 1.0}


def test_two_metrics_of_the_same_labels_cannot_lose_their_names() -> None:
    asked = engine({'x{a="1"}': GAUGE, 'y{a="1"}': GAUGE})
    with pytest.raises(ExecutionError, match="same labelset"):
        asked.instant('rate({a="1"}[4m])', 4 * MINUTE)
