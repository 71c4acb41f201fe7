from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.query.series import MINUTE, engine, matrix, vector
from vigie.query.parser.durations import evaluate_duration
from vigie.query.parser.grammar import ParseError


@pytest.mark.parametrize(
    ("query", "plain"),
    [
        ("x[5m + 1m]", "x[360000ms]"),
        ("x[(5m)]", "x[300000ms]"),
        ("x[2 ^ 3 * 1m:30s / 2]", "x[480000ms:15000ms]"),
        ("x[5m:]", "x[5m:]"),
        ("x offset (5m)", "x offset 300000ms"),
        ("x offset (5m - 1h)", "x offset -3300000ms"),
        ("x offset(-(1m))", "x offset -60000ms"),
        ("x offset (5m - 5m)", "x "),
        ("x[step()]", "x[30000ms]"),
        ("x[step() + 1]", "x[31000ms]"),
        ("x[max(step(), 5s)]", "x[30000ms]"),
        ("x[MIN(2 * step() + 5s, 1m)]", "x[60000ms]"),
        ("x[range()] @ end()", "x[600000ms] @ end()"),
        ("x[range():step()]", "x[600000ms:30000ms]"),
        ("x offset step()", "x offset 30000ms"),
        ("x offset -step()", "x offset -30000ms"),
        ("x offset max(step(), 1m)", "x offset 60000ms"),
        ("x offset -min(range(), 1m) + 1", "x offset -60000ms + 1"),
        ("x offset 5m * 2", "x offset 5m * 2"),
        ("x[4h % 3h]", "x[3600000ms]"),
        ("step() + range()", "step() + range()"),
        ("x{a=\"[1+1]\", b='offset (1)'}[1m]", "x{a=\"[1+1]\", b='offset (1)'}[1m]"),
        ("sum(x) + 1", "sum(x) + 1"),
    ],
)
def test_computed_duration_becomes_a_plain_one(query: str, plain: str) -> None:
    assert evaluate_duration(query, step=30.0, span=600.0) == plain


@pytest.mark.parametrize(
    "query",
    [
        "x[5m - 5m]",
        "x[1m - 5m]",
        "x[5m / 0]",
        "x[1e300 * 5]",
        "x[y + 1]",
        "x[1 +]",
        "x offset (",
        "x offset (a)",
        "x[step()]",  # of a query at one time there is none
        "x[range()]",
        "x[max(1m)]",
        "x[time()]",
        "x offset min(1m",
    ],
)
def test_what_is_no_duration_is_bad_data(query: str) -> None:
    with pytest.raises(ParseError):
        evaluate_duration(query)


def test_computed_durations_are_answered() -> None:
    asked = engine({"x{}": [float(minute) for minute in range(10)]})
    found = asked.instant("count_over_time(x[1m * 2 + 1m] offset (2m))", 9 * MINUTE)
    assert vector(found) == {"{}": 3.0}


def test_step_and_range_are_those_of_the_query() -> None:
    asked = engine({"x{}": [float(minute) for minute in range(10)]})
    found = asked.range("count_over_time(x[2 * step()]) + 0 * step()", 4 * MINUTE, 8 * MINUTE, 2 * MINUTE)
    assert matrix(found) == {"{}": [(4 * MINUTE, 4.0), (6 * MINUTE, 4.0), (8 * MINUTE, 4.0)]}
    found = asked.range("max_over_time(x[range()] @ end())", 4 * MINUTE, 8 * MINUTE, 4 * MINUTE)
    assert matrix(found) == {"{}": [(4 * MINUTE, 8.0), (8 * MINUTE, 8.0)]}
    assert vector(asked.instant("x offset step()", 9 * MINUTE)) == {"x{}": 9.0}


@pytest.mark.parametrize(
    ("query", "instant", "ranged"),
    [
        ("start()", 540.0, 240.0),
        ("end()", 540.0, 480.0),
        ("range()", 0.0, 240.0),
        ("step()", 0.0, 120.0),
        ("max_of(step(), 60)", 60.0, 120.0),
        ("min_of(step(), 60)", 0.0, 60.0),
        ("max_of(NaN, 1)", math.nan, math.nan),
        ("min_of(-Inf, 1)", -math.inf, -math.inf),
        ("end() - start() == bool range()", 1.0, 1.0),
    ],
)
def test_times_of_the_query_are_numbers_too(query: str, instant: float, ranged: float) -> None:
    asked = engine({})
    assert asked.instant(query, 9 * MINUTE).series[0].values[0] == pytest.approx(instant, nan_ok=True)
    found = asked.range(query, 4 * MINUTE, 8 * MINUTE, 2 * MINUTE).series[0].values
    assert found.tolist() == pytest.approx([ranged] * 3, nan_ok=True)


@given(st.text(alphabet="x[]()+-*/^%:15ms \"'`offset", max_size=30))
def test_garbage_is_left_alone_or_refused(text: str) -> None:
    with contextlib.suppress(ParseError):
        assert isinstance(evaluate_duration(text), str)
