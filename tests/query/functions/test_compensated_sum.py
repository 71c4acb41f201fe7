"""Sums keep what rounding would lose, as Prometheus's do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.query.series import MINUTE, engine, matrix, vector


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1e100, 1.0, -1e100], 1.0),
        ([1.0, 1e100, 1.0, -1e100], 2.0),
        ([0.1] * 10 + [-1.0], 0.0),
        ([1e16, 1.0, 1.0, -1e16], 2.0),
        ([math.inf, -1.0, 1.0], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([-math.inf, 5.0], -math.inf),
        ([math.nan, -1.0], math.nan),
    ],
)
def test_sum_and_average_of_large_and_small(values: list[float], total: float) -> None:
    asked = engine({f'x{{n="{n}"}}': [value] for n, value in enumerate(values)})
    close = pytest.approx(total, abs=1e-16, nan_ok=True)
    assert vector(asked.instant("sum(x)", 0))["{}"] == close
    mean = pytest.approx(total / len(values), abs=1e-16, nan_ok=True)
    assert vector(asked.instant("avg(x)", 0))["{}"] == mean


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1e100, 1.0, -1e100], 1.0),
        ([1.0, 1e100, 1.0, -1e100], 2.0),
        ([0.1] * 10 + [-1.0], 0.0),
        ([1e16, 1.0, 1.0, -1e16], 2.0),
        ([5.0, 1e16, -1e16, -5.0, 1e-20], 1e-20),
        ([math.inf, -1.0, 1.0], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([-math.inf, 5.0], -math.inf),
        ([math.nan, -1.0, 1.0], math.nan),
    ],
)
def test_sum_and_average_over_time_of_large_and_small(values: list[float], total: float) -> None:
    asked = engine({"x{}": [1e50, *values, -3.0], "y{}": [0.0, *values, 7.0]})
    at, length = len(values) * MINUTE, len(values)
    close = pytest.approx(total, abs=1e-16, nan_ok=True)
    mean = pytest.approx(total / length, abs=1e-16, nan_ok=True)
    for name in ("x", "y"):
        assert vector(asked.instant(f"sum_over_time({name}[{length}m])", at))["{}"] == close
        assert vector(asked.instant(f"avg_over_time({name}[{length}m])", at))["{}"] == mean


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=6), min_size=1, max_size=4),
    st.integers(1, 5),
)
def test_sums_of_any_ranges_are_those_of_exact_arithmetic(rows: list[list[float]], length: int) -> None:
    asked = engine({f'x{{n="{n}"}}': row for n, row in enumerate(rows)})
    found = matrix(asked.range(f"sum_over_time(x[{length}m])", 0, 5 * MINUTE, MINUTE))
    for n, row in enumerate(rows):
        exact = [math.fsum(row[max(0, last + 1 - length) : last + 1]) for last in range(6)]
        largest = max(map(abs, row))
        close = pytest.approx(exact, rel=1e-15, abs=largest * 1e-30)
        assert [value for _, value in found[f'{{n="{n}"}}']] == close


@pytest.mark.parametrize(
    ("values", "mean"),
    [([1.7e308, 1.7e308], 1.7e308), ([-1.7e308] * 5, -1.7e308), ([1.7e308, 1.7e308, -1.7e308], 1.7e308 / 3)],
)
def test_average_is_a_number_where_the_sum_is_none(values: list[float], mean: float) -> None:
    asked = engine({"x{}": [0.0, *values]})
    found = asked.instant(f"avg_over_time(x[{len(values)}m])", len(values) * MINUTE)
    assert vector(found)["{}"] == pytest.approx(mean)


LARGE = 2.0**50  # at which a quarter is the smallest step


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("deriv(x[6m])", 0.5 / 60),
        ("predict_linear(x[6m], 60) - 2 ^ 50", 3.5),
        ("stdvar_over_time(x[6m])", 35 / 48),
        ("stddev_over_time(x[6m])", math.sqrt(35 / 48)),
        ("stdvar(y)", 35 / 48),
        ("stddev(y)", math.sqrt(35 / 48)),
    ],
)
def test_small_changes_of_large_numbers_are_seen(call: str, expected: float) -> None:
    steps = [LARGE + 0.5 * place for place in range(7)]
    rows = {f'y{{n="{n}"}}': [value] * 7 for n, value in enumerate(steps[1:])}
    found = vector(engine({"x{}": steps, **rows}).instant(call, 6 * MINUTE))
    assert found == {"{}": pytest.approx(expected, rel=1e-9)}


@pytest.mark.parametrize("length", [4, 5, 64, 1001])
def test_long_ranges_are_summed_as_exactly_as_short_ones(length: int) -> None:
    values = [(-1.0) ** place * 10.0 ** (place % 37) for place in range(length)]
    asked = engine({"x{}": [*values, math.inf]})
    at = (length - 1) * MINUTE
    expected = pytest.approx(math.fsum(values), rel=1e-15)
    assert vector(asked.instant(f"sum_over_time(x[{length}m])", at))["{}"] == expected
    short = matrix(asked.range("sum_over_time(x[4m])", 3 * MINUTE, at, MINUTE))["{}"]
    assert [total for _, total in short] == pytest.approx(
        [math.fsum(values[end - 3 : end + 1]) for end in range(3, length)], rel=1e-15
    )
