from __future__ import annotations

import math

import numpy as np
import promql_parser
import pytest

from tests.query.series import MINUTE, engine, matrix, storage, vector
from vigie.query.aggregation.aggregations import merge, start
from vigie.query.aggregation.grouping import Grouper, Grouping
from vigie.query.aggregation.partial_aggregates import FOLDS
from vigie.query.engine import Engine
from vigie.query.errors import ExecutionError, TooManySamplesError
from vigie.query.limits import QueryLimits
from vigie.query.vectors import Vector

SERIES: dict[str, list[float | None]] = {
    'x{node="a",gpu="0"}': [1.0, 10.0],
    'x{node="a",gpu="1"}': [2.0, 5.0],
    'x{node="b",gpu="0"}': [4.0, None],
    'x{node="b",gpu="1"}': [math.nan, 7.0],
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('sum(x{node="a"})', {"{}": 3.0}),
        ("sum by (node) (x)", {'{node="a"}': 3.0, '{node="b"}': math.nan}),
        ("sum without (gpu) (x)", {'{node="a"}': 3.0, '{node="b"}': math.nan}),
        ('avg(x{node="a"})', {"{}": 1.5}),
        ("min by (node) (x)", {'{node="a"}': 1.0, '{node="b"}': 4.0}),
        ("max(x)", {"{}": 4.0}),
        ("count by (gpu) (x)", {'{gpu="0"}': 2.0, '{gpu="1"}': 2.0}),
        ("group by (__name__) (x)", {"x{}": 1.0}),
        ('stddev(x{node="a"})', {"{}": 0.5}),
        ('stdvar(x{gpu="0"})', {"{}": 2.25}),
        ('quantile(0.75, x{gpu="0"})', {"{}": 3.25}),
        ("quantile(0, x)", {"{}": math.nan}),
        ("quantile(1, x)", {"{}": 4.0}),
        ("sum(nothing)", {}),
        ('count_values("v", x)', {'{v="1"}': 1.0, '{v="2"}': 1.0, '{v="4"}': 1.0, '{v="NaN"}': 1.0}),
        (
            'count_values by (gpu) ("v", x{node="a"} > bool 1)',
            {'{gpu="0",v="0"}': 1.0, '{gpu="1",v="1"}': 1.0},
        ),
    ],
)
def test_aggregation_by_hand(query: str, expected: dict[str, float]) -> None:
    found = vector(engine(SERIES).instant(query, 0))
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("first", [1e308, -1e308, math.inf])
def test_a_mean_is_a_number_where_the_sum_is_too_large_to_be_one(first: float) -> None:
    series = {f'x{{n="{n}"}}': [first, 1.0] for n in range(40)}
    assert vector(engine(series).instant("avg(x)", 0)) == {"{}": first}
    assert matrix(engine(series).range("avg(x)", 0, MINUTE, MINUTE)) == {"{}": [(0, first), (MINUTE, 1.0)]}


@pytest.mark.parametrize("values", [[1e308, 1e308, 1e308], [1.0, 2.0, 6.0], [math.inf, 1.0, 2.0]])
def test_a_mean_of_parts_is_that_of_all_where_only_some_groups_go_on(values: list[float]) -> None:
    fold, grouper = FOLDS["avg"], Grouper(parsed("avg by (n) (x)").modifier)
    parts = [[("a", values[0]), ("b", 5.0)], [("c", 7.0), ("a", values[1])], [("a", values[2])]]
    made = [start(fold, _column(part), grouper) for part in parts]
    found = merge(fold, made, 1)
    means = {labels["n"]: value for labels, value in zip(found.labels, found.values[:, 0], strict=True)}
    assert means == pytest.approx({"a": sum(value / 3 for value in values), "b": 5.0, "c": 7.0})


@pytest.mark.parametrize("operator", FOLDS)
def test_groups_of_one_series_are_what_the_same_fold_makes_of_them(operator: str) -> None:
    fold, values = FOLDS[operator], np.array([[1.5, -2.0, math.inf, -math.inf, math.nan, 0.0, 1e308]]).T
    every = np.arange(len(values))
    vector = Vector([{"n": str(n)} for n in every], values, np.ones(values.shape, dtype=np.bool_))
    with np.errstate(all="ignore"):
        expected = fold.finish(fold.start(vector, Grouping(vector.labels, every, every)))
        assert np.array_equal(fold.finish_single(values), expected, equal_nan=True)
        halves = [vector.rows(every[:3]), vector.rows(every[3:])]
    found = merge(fold, [start(fold, half, Grouper(parsed("sum by (n) (x)").modifier)) for half in halves], 1)
    assert [labels["n"] for labels in found.labels] == [str(n) for n in every]
    assert np.array_equal(found.values, expected, equal_nan=True)


def _column(series: list[tuple[str, float]]) -> Vector:
    values = np.array([[value] for _, value in series])
    return Vector([{"n": name} for name, _ in series], values, np.ones(values.shape, dtype=np.bool_))


def parsed(query: str) -> promql_parser.AggregateExpr:
    tree = promql_parser.parse(query)
    assert isinstance(tree, promql_parser.AggregateExpr)
    return tree


def test_absent_series_are_not_counted() -> None:
    # The sample of b's first GPU is five minutes old at the last step.
    points = matrix(engine(SERIES).range('count(x{node="b"})', 4 * MINUTE, 5 * MINUTE, MINUTE))
    assert points == {"{}": [(4 * MINUTE, 2.0), (5 * MINUTE, 1.0)]}


def test_spread_of_one_infinity_is_not_a_number_as_in_prometheus_3() -> None:
    assert math.isnan(vector(engine({"x{}": [math.inf]}).instant("stddev(x)", 0))["{}"])


def test_topk_gives_the_largest_first_and_nan_last() -> None:
    asked = engine(SERIES)
    assert list(vector(asked.instant("topk(2, x)", 0)).values()) == [4.0, 2.0]
    assert list(vector(asked.instant("bottomk(3, x)", 0)).values()) == [1.0, 2.0, 4.0]
    last = list(vector(asked.instant("topk(9, x)", 0)).values())[-1]
    assert math.isnan(last)
    assert vector(asked.instant("topk by (node) (1, x)", 0)) == {
        'x{gpu="1",node="a"}': 2.0,
        'x{gpu="0",node="b"}': 4.0,
    }
    assert asked.instant("topk(0, x)", 0).series == []


def test_topk_over_a_range_chooses_at_each_step() -> None:
    points = matrix(engine(SERIES).range('topk(1, x{node="a"})', 0, MINUTE, MINUTE))
    assert points == {'x{gpu="0",node="a"}': [(MINUTE, 10.0)], 'x{gpu="1",node="a"}': [(0, 2.0)]}


def test_limitk_keeps_so_many_of_each_group() -> None:
    found = vector(engine(SERIES).instant("limitk by (node) (1, x)", 0))
    assert sorted(found) == ['x{gpu="0",node="a"}', 'x{gpu="0",node="b"}']


@pytest.mark.parametrize("number", ["NaN", "1e300", "Inf"])
def test_number_of_series_must_be_a_whole_number(number: str) -> None:
    with pytest.raises(ExecutionError, match="overflows int64"):
        engine(SERIES).instant(f"topk({number}, x)", 0)


def test_label_of_count_values_must_be_a_label() -> None:
    with pytest.raises(ExecutionError, match='invalid label name "a-b"'):
        engine(SERIES).instant('count_values("a-b", x)', 0)


@pytest.mark.parametrize(
    "query", ['count_values("a-b", nothing)', "topk(NaN, nothing)", "bottomk(1e300, x > 9)"]
)
def test_a_wrong_parameter_is_refused_even_where_there_is_nothing(query: str) -> None:
    with pytest.raises(ExecutionError):
        engine(SERIES).instant(query, 0)


def test_counted_values_cost_a_row_each() -> None:
    series = {f'x{{n="{n}"}}': [n + step / 64 for step in range(50)] for n in range(40)}
    small = Engine(storage(series), QueryLimits(samples=50_000))  # 40 * 50 samples, but 2000 rows of 50 steps
    with pytest.raises(TooManySamplesError):
        small.range('count_values("v", x)', 0, 49 * MINUTE, MINUTE)
    whole = matrix(small.range('count_values("v", floor(x))', 0, 49 * MINUTE, MINUTE))
    assert len(whole) == 40


def test_zeros_of_either_sign_are_counted_apart_and_all_nan_together() -> None:
    series = {"a{}": [0.0], "b{}": [-0.0], "c{}": [math.nan], "d{}": [-math.nan]}
    found = vector(engine(series).instant('count_values("v", {__name__=~"[a-d]"})', 0))
    assert found == {'{v="0"}': 1.0, '{v="-0"}': 1.0, '{v="NaN"}': 2.0}


def test_groups_that_the_value_makes_alike_are_counted_together() -> None:
    found = vector(engine(SERIES).instant('count_values by (gpu) ("gpu", x * 0 == 0)', 0))
    assert found == {'{gpu="0"}': 3.0}


def test_values_become_labels_without_an_exponent() -> None:
    found = vector(engine({"x{}": [1e21], "y{}": [1e-7]}).instant('count_values("v", {__name__=~"x|y"})', 0))
    assert found == {'{v="1000000000000000000000"}': 1.0, '{v="0.0000001"}': 1.0}
