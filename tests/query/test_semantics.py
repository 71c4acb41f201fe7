"""Prometheus 3's migration guide in numbers: a sample exactly at the left end of a range lies outside."""

from __future__ import annotations

import pytest

from tests.query.series import MINUTE, engine, vector
from vigie.query.semantics import Semantics

EVERY_MINUTE = {"x{}": [float(minute) for minute in range(11)]}


@pytest.mark.parametrize(
    ("query", "now", "before"),
    [
        ("count_over_time(x[5m])", 5.0, 6.0),
        ("count_over_time(x[1m])", 1.0, 2.0),
        ("count_over_time(x[59s])", 1.0, 1.0),
        ("count_over_time(x[61s])", 2.0, 2.0),
        ("count_over_time(x[5m] offset 2m)", 5.0, 6.0),
        ("count_over_time(x[5m] offset 30s)", 5.0, 5.0),
        ("count_over_time(x[5m] @ 300)", 5.0, 6.0),
        ("count_over_time(x[5m:1m])", 5.0, 6.0),
        ("count_over_time(x[1m:1m])", 1.0, 2.0),
        ("count_over_time(x[1m:20s])", 3.0, 4.0),
        ("count_over_time(x[5m:2m])", 3.0, 3.0),
        ("first_over_time(x[3m])", 8.0, 7.0),
        ("sum_over_time(x[2m])", 19.0, 27.0),
        ("rate(x[1m])", None, 1 / 60),
        ("rate(x[2m])", 1 / 60, 1 / 60),
        ("increase(x[2m])", 2.0, 2.0),
        ("delta(x[1m])", None, 1.0),
        ("min_over_time(x[10m])", 1.0, 0.0),
        ("x @ 900 - 9", None, 1.0),  # the last sample is exactly five minutes old
        ("x @ 899.999 - 9", 1.0, 1.0),
    ],
)
def test_range_by_hand(query: str, now: float | None, before: float | None) -> None:
    for semantics, expected in ((Semantics.PROMETHEUS_3, now), (Semantics.PROMETHEUS_2, before)):
        found = list(vector(engine(EVERY_MINUTE, semantics=semantics).instant(query, 10 * MINUTE)).values())
        assert found == ([] if expected is None else [pytest.approx(expected)]), semantics
