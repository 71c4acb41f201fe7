"""Queries of thousands of operators are answered; endless ones hit a limit, not the process."""

from __future__ import annotations

import pytest

from tests.query.series import MINUTE, vector
from tests.query.series import engine as make_engine
from vigie.query.engine import Engine
from vigie.query.errors import BadDataError, QueryError
from vigie.query.parser.grammar import parse_tree
from vigie.query.parser.parse import format_query


@pytest.fixture(scope="module")
def engine() -> Engine:
    return make_engine({'x{a="1"}': [1.0, 2.0], 'y{a="1"}': [3.0, 5.0]})


def test_a_thousand_numbers_are_added(engine: Engine) -> None:
    assert engine.instant("+".join(["1"] * 1000), 0).series[0].values.tolist() == [1000.0]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (" + ".join(["x"] * 300), {'{a="1"}': 600.0}),
        (f"sum({' + '.join(['x'] * 300)}) + 1", {"{}": 601.0}),
        (" or ".join(['x{a="2"} * 2'] * 199 + ["y"]), {'y{a="1"}': 5.0}),
        (" - ".join(["x * 2 * 3 ^ 2"] * 150), {'{a="1"}': 36.0 - 149 * 36.0}),
        (" + on (a) group_left () ".join(["x - -1"] * 150), {'{a="1"}': 450.0}),
        (f"{' + '.join(['1'] * 300)} > bool {' + '.join(['x'] * 100)}", {'{a="1"}': 1.0}),
        (f"clamp({' + '.join(['x'] * 300)}, 0, {' + '.join(['1'] * 400)})", {'{a="1"}': 400.0}),
        (" + ".join(["-x"] * 300), {'{a="1"}': -600.0}),
        (" and ".join(["x"] * 150), {'x{a="1"}': 2.0}),
        (f"max_over_time(({' + '.join(['x'] * 300)})[2m:1m] offset (1m - 1m))", {'{a="1"}': 600.0}),
    ],
)
def test_long_rows_are_combined_in_turn(query: str, expected: dict[str, float], engine: Engine) -> None:
    assert vector(engine.instant(query, MINUTE)) == expected


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%", "==", "and", "or", "unless", "atan2"])
def test_long_row_gives_what_it_does_in_two_short_ones(operator: str, engine: Engine) -> None:
    head = "x" + f" {operator} x" * 60
    tail = f" {operator} x" * 60 + " + x * 2 - -y ^ 2 ^ x or y"
    short = vector(engine.instant(f"({head}){tail}", MINUTE))
    assert vector(engine.instant(head + tail, MINUTE)) == pytest.approx(short, nan_ok=True)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("+".join(["1"] * 10_002), "more than 10,000 operators"),
        ("(" * 1000 + "x" + ")" * 1000, "more than 200 brackets"),
        ("-" * 1000 + "x", "nested more than 400 deep"),
        ("^".join(["1"] * 1000), "nested more than 400 deep"),
        ("x" * 600_000, "more than 500,000 characters"),
        (" > ".join(["1"] * 500), "comparisons between scalars"),
        ("+".join(["1"] * 500) + " + x[5m]", "must contain only scalar and instant vector"),
        ("+".join(["1"] * 500) + "+ nosuch()", "unknown function"),
        (" + ".join(["x"] * 500) + ' + x{a=~"("}', r"regex"),
        ('vigie_long_vector("zz")', "not for use"),
        ('clamp(x, vigie_long_scalar("782b78"), 1)', "not for use"),
        ("vigie_long_vector(x)", "expected type string"),
    ],
)
def test_endless_or_wrong_rows_are_bad_data(query: str, reason: str, engine: Engine) -> None:
    with pytest.raises(BadDataError, match=reason):
        engine.instant(query, 0)


def test_nesting_beyond_the_stack_is_an_error(engine: Engine) -> None:
    query = "x"
    for _ in range(199):
        query = f"max_over_time({query}[1m:30s])"
    with pytest.raises(QueryError, match="nested too deep"):
        engine.instant(query, MINUTE)


def test_row_is_formatted_as_it_is() -> None:
    row = "+".join(["x"] * 200)
    assert format_query(row) == row
    assert format_query("sum( x )by(a)") == parse_tree("sum( x )by(a)").prettify()
    assert format_query("x[2*step()]") == "x[2*step()]"
