"""Sums keep what rounding would lose, as Prometheus's do."""

from __future__ import annotations

import math

import pytest

from tests.query.series import engine, vector


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
