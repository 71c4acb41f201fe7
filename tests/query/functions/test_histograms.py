from __future__ import annotations

import math

import pytest

from tests.query.series import MINUTE, engine, matrix, vector
from vigie.query.errors import ExecutionError

BUCKETS = {
    'took_bucket{le="1"}': [2.0],
    'took_bucket{le="2"}': [6.0],
    'took_bucket{le="4"}': [8.0],
    'took_bucket{le="+Inf"}': [10.0],
    'took_bucket{le="odd"}': [99.0],
}


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ("0.1", 0.5),
        ("0.4", 1.5),
        ("0.8", 4.0),
        ("0.95", 4.0),  # beyond the last limit nothing is known
        ("-1", -math.inf),
        ("1.5", math.inf),
        ("NaN", math.nan),
    ],
)
def test_quantile_lies_between_the_limits_of_its_bucket(share: str, expected: float) -> None:
    found = vector(engine(BUCKETS).instant(f"histogram_quantile({share}, took_bucket)", 0))
    assert found == pytest.approx({"{}": expected}, nan_ok=True)


@pytest.mark.parametrize(
    "series",
    [
        {'b{le="1"}': [2.0], 'b{le="2"}': [6.0]},
        {'b{le="+Inf"}': [6.0]},
        {'b{le="1"}': [0.0], 'b{le="+Inf"}': [0.0]},
    ],
    ids=["no last bucket", "only the last bucket", "no observations"],
)
def test_incomplete_histogram_is_not_a_number(series: dict[str, list[float]]) -> None:
    assert math.isnan(vector(engine(series).instant("histogram_quantile(0.5, b)", 0))["{}"])


def test_first_bucket_below_zero_gives_its_limit() -> None:
    series = {'b{le="-1"}': [5.0], 'b{le="+Inf"}': [6.0]}
    assert vector(engine(series).instant("histogram_quantile(0.5, b)", 0)) == {"{}": -1.0}


def test_limits_of_the_same_number_are_one_bucket_and_counts_never_fall() -> None:
    series = {'b{le="1"}': [2.0], 'b{le="1.0"}': [2.0], 'b{le="2"}': [3.0], 'b{le="+Inf"}': [8.0]}
    assert vector(engine(series).instant("histogram_quantile(0.25, b)", 0)) == {"{}": 0.5}
    assert vector(engine(series).instant("histogram_quantile(0.75, b)", 0)) == {"{}": 2.0}


def test_buckets_may_come_and_go() -> None:
    series: dict[str, list[float | None]] = {
        'b{le="1"}': [1.0] + [None] * 6,
        'b{le="2"}': [2.0] * 7,
        'b{le="+Inf"}': [2.0] * 7,
    }
    points = matrix(engine(series).range("histogram_quantile(0.5, b)", 0, 6 * MINUTE, 6 * MINUTE))
    assert points == {"{}": [(0, 1.0), (6 * MINUTE, 1.0)]}
    points = matrix(engine(series).range("histogram_quantile(0.25, b)", 0, 6 * MINUTE, 6 * MINUTE))
    assert points == {"{}": [(0, 0.5), (6 * MINUTE, 0.5)]}
    points = matrix(engine(series).range("histogram_quantile(1, b)", 0, 6 * MINUTE, 6 * MINUTE))
    assert points == {"{}": [(0, 2.0), (6 * MINUTE, 2.0)]}


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        ("0", "1", 0.2),
        ("0", "1.5", 0.4),  # half of the second bucket
        ("1", "4", 0.6),
        ("-Inf", "+Inf", 1.0),
        ("4", "+Inf", 0.2),
        ("0.5", "3", 0.6),
        ("5", "1000", 0.0),  # what is beyond the last limit is nowhere
        ("3", "1", 0.0),
        ("NaN", "1", math.nan),
    ],
)
def test_fraction_between_two_values(lower: str, upper: str, expected: float) -> None:
    found = vector(engine(BUCKETS).instant(f"histogram_fraction({lower}, {upper}, took_bucket)", 0))
    assert found == pytest.approx({"{}": expected}, nan_ok=True)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ({'b{le="1"}': [2.0], 'b{le="2"}': [6.0]}, math.nan),
        ({'b{le="1"}': [0.0], 'b{le="+Inf"}': [0.0]}, math.nan),
        ({'b{le="-1"}': [2.0], 'b{le="1"}': [4.0], 'b{le="+Inf"}': [4.0]}, 0.25),  # half of that from -1 to 1
        ({'b{le="0"}': [1.0], 'b{le="2"}': [3.0], 'b{le="+Inf"}': [4.0]}, 0.25),
    ],
)
def test_fraction_from_0_to_1_of_odd_histograms(series: dict[str, list[float]], expected: float) -> None:
    found = vector(engine(series).instant("histogram_fraction(0, 1, b)", 0))
    assert found == pytest.approx({"{}": expected}, nan_ok=True)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ("0.1", {'{q="0.1"}': 0.5}),
        ("0.1, 0.4", {'{q="0.1"}': 0.5, '{q="0.4"}': 1.5}),
        ("0, 1", {'{q="0.0"}': 0.0, '{q="1.0"}': 4.0}),
        ("0.95, -1", {'{q="0.95"}': 4.0, '{q="-1.0"}': -math.inf}),
        ("Inf, NaN", {'{q="+Inf"}': math.inf, '{q="NaN"}': math.nan}),
        ("time() + 0.8", {'{q="0.8"}': 4.0}),
    ],
)
def test_several_quantiles_are_distinguished_by_a_label(shares: str, expected: dict[str, float]) -> None:
    found = vector(engine(BUCKETS).instant(f'histogram_quantiles(took_bucket, "q", {shares})', 0))
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("query", "message"), [('"a-b", 0.5', "invalid label name"), ('"q", 0.5, 0.5', "same")]
)
def test_quantiles_that_cannot_be_distinguished_are_errors(query: str, message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        engine(BUCKETS).instant(f"histogram_quantiles(took_bucket, {query})", 0)
