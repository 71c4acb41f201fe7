from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.query.series import MINUTE, engine, vector
from vigie.query.durations import worked_out
from vigie.query.errors import BadData


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
        ("x{a=\"[1+1]\", b='offset (1)'}[1m]", "x{a=\"[1+1]\", b='offset (1)'}[1m]"),
        ("sum(x) + 1", "sum(x) + 1"),
    ],
)
def test_computed_duration_becomes_a_plain_one(query: str, plain: str) -> None:
    assert worked_out(query) == plain


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
    ],
)
def test_what_is_no_duration_is_bad_data(query: str) -> None:
    with pytest.raises(BadData, match="parse error"):
        worked_out(query)


def test_computed_durations_are_answered() -> None:
    asked = engine({"x{}": [float(minute) for minute in range(10)]})
    found = asked.instant("count_over_time(x[1m * 2 + 1m] offset (2m))", 9 * MINUTE)
    assert vector(found) == {"{}": 3.0}


@given(st.text(alphabet="x[]()+-*/^%:15ms \"'`offset", max_size=30))
def test_garbage_is_left_alone_or_refused(text: str) -> None:
    with contextlib.suppress(BadData):
        assert isinstance(worked_out(text), str)
