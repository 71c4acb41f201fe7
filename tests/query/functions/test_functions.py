"""What Prometheus 2.42 does not have to compare with, computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.query.series import MINUTE, engine, vector
from vigie.query.errors import ExecutionError


def over(values: Sequence[float | None], call: str) -> float | None:
    """Return the value of a function over all these samples, a minute apart, the first at 0:01."""
    result = engine({"x{}": [None, *values]}).instant(
        call.replace("(x", f"(x[{len(values)}m]"), len(values) * MINUTE
    )
    assert len(result.series) <= 1
    return float(result.series[0].values[0]) if result.series else None


@pytest.mark.parametrize(
    ("values", "smoothing", "trend", "expected"),
    [
        ([0.0, 1.0, 2.0, 3.0], 0.5, 0.5, 3.0),  # a straight line is followed exactly
        ([1.0, 2.0, 4.0], 0.5, 0.5, 3.5),
        ([5.0, 5.0, 5.0], 0.3, 0.9, 5.0),
        ([10.0, 0.0], 0.5, 0.1, 0.0),
        ([0.0, 10.0, 0.0], 0.25, 0.5, 15.0),
        ([0.0, None, 2.0, 4.0], 0.5, 0.5, 4.0),  # it counts samples, not minutes
        ([7.0], 0.5, 0.5, None),
    ],
)
def test_double_exponential_smoothing(
    values: list[float | None], smoothing: float, trend: float, expected: float | None
) -> None:
    for name in ("double_exponential_smoothing", "holt_winters"):
        made = over(values, f"{name}(x, {smoothing}, {trend})")
        assert made == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], 1.0),
        ([1.0, 1.0, 1.0], 0.0),
        ([4.0], 0.0),
        ([1.0, 2.0, 4.0, 8.0], 1.5),
        ([0.0, 10.0], 5.0),
        ([-3.0, None, -1.0, 7.0], 2.0),
    ],
)
def test_mad_over_time(values: list[float | None], expected: float) -> None:
    assert over(values, "mad_over_time(x)") == expected


@pytest.mark.parametrize(
    ("values", "first", "last", "lowest", "highest"),
    [
        ([3.0, 1.0, 2.0], 60.0, 180.0, 120.0, 60.0),
        ([2.0, 2.0, 2.0], 60.0, 180.0, 180.0, 180.0),  # of equals the last counts
        ([1.0, 5.0, 1.0, 5.0], 60.0, 240.0, 180.0, 240.0),
        ([None, 4.0, None], 120.0, 120.0, 120.0, 120.0),
        ([-1.0, None, -3.0, 0.0], 60.0, 240.0, 180.0, 240.0),
        ([float("nan"), 2.0, 1.0], 60.0, 180.0, 180.0, 120.0),
    ],
)
def test_ts_of_first_last_min_and_max_over_time(
    values: list[float | None], first: float, last: float, lowest: float, highest: float
) -> None:
    expected = {"first": first, "last": last, "min": lowest, "max": highest}
    assert {name: over(values, f"ts_of_{name}_over_time(x)") for name in expected} == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0, 1.0, 2.0], 3.0),
        ([None, 1.0], 1.0),
        ([-7.0], -7.0),
        ([0.0, 9.0], 0.0),
        ([float("inf"), 9.0], float("inf")),
        ([None, None], None),
    ],
)
def test_first_over_time(values: list[float | None], expected: float | None) -> None:
    assert over(values, "first_over_time(x)") == expected


FOUR = {
    'x{node="a",gpu="0"}': [1.0],
    'x{node="a",gpu="1"}': [2.0],
    'x{node="b",gpu="0"}': [3.0],
    'x{node="b",gpu="1"}': [4.0],
}


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("limitk(0, x)", 0),
        ("limitk(-1, x)", 0),
        ("limitk(1, x)", 1),
        ("limitk(2.9, x)", 2),
        ("limitk(10, x)", 4),
        ("limitk by (node) (1, x)", 2),
        ("limitk without (gpu) (2, x)", 4),
        ("limit_ratio(0, x)", 0),
        ("limit_ratio(1, x)", 4),
        ("limit_ratio(-1, x)", 4),
        ("limit_ratio(7, x)", 4),
        ("limit_ratio(-7, x)", 4),
    ],
)
def test_limits_keep_so_many_series_as_they_are(query: str, count: int) -> None:
    whole = vector(engine(FOUR).instant("x", 0))
    found = vector(engine(FOUR).instant(query, 0))
    assert len(found) == count
    assert found.items() <= whole.items()


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_a_ratio_and_its_negative_complement_make_the_whole(share: float) -> None:
    many = engine({f'x{{n="{n}"}}': [float(n)] for n in range(200)})
    some = vector(many.instant(f"limit_ratio({share}, x)", 0))
    rest = vector(many.instant(f"limit_ratio({share - 1}, x)", 0))
    assert not some.keys() & rest.keys()
    assert len(some | rest) == 200
    assert abs(len(some) - 200 * share) < 40


def test_ratio_that_is_no_number_is_refused() -> None:
    with pytest.raises(ExecutionError, match="Ratio value is NaN"):
        engine(FOUR).instant("limit_ratio(NaN, x)", 0)


@pytest.mark.parametrize(
    ("values", "labels", "expected"),
    [
        (["10", "2", "1"], '"a"', ["1", "2", "10"]),
        (["b", "a", "c"], '"a"', ["a", "b", "c"]),
        (["n10x", "n2x", "n1x"], '"a"', ["n1x", "n2x", "n10x"]),
        (["b", "", "a"], '"a"', ["", "a", "b"]),
        (["b", "a"], '"nothing"', ["a", "b"]),
        (["b", "a"], '"nothing", "a"', ["a", "b"]),
    ],
)
def test_sort_by_label(values: list[str], labels: str, expected: list[str]) -> None:
    result = engine({f'x{{a="{value}",z="{n}"}}': [1.0] for n, value in enumerate(values)})
    for name, order in (("sort_by_label", expected), ("sort_by_label_desc", expected[::-1])):
        found = result.instant(f"{name}(x, {labels})", 0).series
        assert [series.labels.get("a", "") for series in found] == order
