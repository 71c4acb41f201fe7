from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.query.generator import Generator
from tests.query.series import MINUTE, engine, matrix, storage, vector
from vigie.query.engine import Engine
from vigie.query.errors import BadDataError, ExecutionError, QueryError, QueryTimeoutError
from vigie.query.limits import QueryLimits
from vigie.query.parser.parse import parse_selector
from vigie.query.storage import Matcher

SERIES = {'x{a="1"}': [1.0, 2.0, 3.0], 'x{a="2"}': [4.0, 5.0, 6.0]}


@pytest.mark.parametrize(
    ("query", "kind"),
    [("x", "vector"), ("x[1m]", "matrix"), ("x[1m:1m]", "matrix"), ("(1)", "scalar"), ('"text"', "string")],
)
def test_answer_tells_its_kind(query: str, kind: str) -> None:
    assert engine(SERIES).instant(query, MINUTE).kind == kind


def test_string_is_its_own_answer() -> None:
    assert engine(SERIES).instant('"text"', 0).text == "text"


def test_scalar_over_a_range_is_one_series_without_labels() -> None:
    assert matrix(engine(SERIES).range("1 + 1", 0, MINUTE, MINUTE)) == {"{}": [(0, 2.0), (MINUTE, 2.0)]}


def test_steps_run_from_start_to_the_last_that_is_not_after_the_end() -> None:
    points = matrix(engine(SERIES).range('x{a="1"}', 0, MINUTE + 59_999, MINUTE))
    assert points == {'x{a="1"}': [(0, 1.0), (MINUTE, 2.0)]}


@pytest.mark.parametrize(
    "query",
    [
        "(" * 201 + "x" + ")" * 201,
        "sum(x",
        "rate(x)",
        "x offset",
        "nosuch(x)",
        "{}",
        '{a=""}',
        "1 > 2",
        'x{a=~"("}',
        'x{a="1" or b="2"}',
        "",
    ],
)
def test_what_cannot_be_parsed_is_bad_data(query: str) -> None:
    with pytest.raises(BadDataError, match=r"parse error|error parsing regexp") as caught:
        engine(SERIES).instant(query, 0)
    assert (caught.value.kind, caught.value.status) == ("bad_data", 400)


@pytest.mark.parametrize("query", ["x[5m]", "x[5m:1m]", '"text"'])
def test_range_query_must_give_numbers_at_steps(query: str) -> None:
    with pytest.raises(BadDataError, match="for range query, must be Scalar or instant Vector"):
        engine(SERIES).range(query, 0, MINUTE, MINUTE)


@pytest.mark.parametrize(
    ("start", "end", "step", "message"),
    [
        (0, MINUTE, 0, "zero or negative query resolution"),
        (MINUTE, 0, 1, "end timestamp must not be before start time"),
        (0, 11_001, 1, "exceeded maximum resolution of 11,000 points per timeseries"),
    ],
)
def test_impossible_steps_are_bad_data(start: int, end: int, step: int, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        engine(SERIES).range("x", start, end, step)


def test_query_over_too_many_samples_is_refused() -> None:
    small = Engine(storage(SERIES), QueryLimits(samples=5))
    with pytest.raises(ExecutionError, match="too many samples"):
        small.instant("x[5m]", 2 * MINUTE)
    assert vector(small.instant('x{a="1"}', 0)) == {'x{a="1"}': 1.0}


def test_query_that_takes_too_long_is_ended() -> None:
    def clock() -> Iterator[float]:
        yield from (0.0, 0.5, 2.0)

    times = clock()
    slow = Engine(storage(SERIES), QueryLimits(seconds=1), clock=lambda: next(times))
    with pytest.raises(QueryTimeoutError, match="query timed out in expression evaluation") as caught:
        slow.instant("sum(x)", 0)
    assert (caught.value.kind, caught.value.status) == ("timeout", 503)


def test_selector_of_the_series_page_is_parsed() -> None:
    assert parse_selector('x{a!~"1|2"}') == [Matcher("__name__", "=", "x"), Matcher("a", "!~", "1|2")]
    with pytest.raises(BadDataError, match="expected only a series selector"):
        parse_selector("rate(x[5m])")


WORDS = (
    *(
        "x",
        "rate(",
        "sum by(a)(",
        "topk(",
        ")",
        "[5m]",
        "[5m:1m]",
        "[1m+",
        " offset ",
        "offset (",
        " @ ",
        "start()",
    ),
    *(
        "{",
        "}",
        'a="1"',
        'a=~".*"',
        ",",
        "1",
        "NaN",
        "-",
        "+",
        "^",
        " and ",
        " on(a) group_left() ",
        " bool ",
        '"',
    ),
    *(
        "label_replace(",
        "histogram_quantile(",
        "#",
        "\n",
        "\x00",
        "🦀",
        "__name__",
        "or",
        "==",
        "limit_ratio(",
    ),
)


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=25).map("".join))
def test_any_text_gets_an_answer_or_an_error(text: str) -> None:
    with contextlib.suppress(QueryError):
        engine(SERIES).instant(text, MINUTE)
    with contextlib.suppress(QueryError):
        engine(SERIES).range(text, 0, 2 * MINUTE, MINUTE)


@pytest.mark.parametrize(
    "query",
    [
        " + ".join(["x"] * 1000),
        " or ".join(["x"] * 1000),
        "-" * 1000 + "x",
        "(" * 1000 + "x" + ")" * 1000,
        "sum(" * 500 + "x" + ")" * 500,
        "x" + "[1m:1s]" * 300,
        "[" * 5000,
        "x" + "{" * 5000,
        "a" * 100_000,
    ],
)
def test_endless_query_is_answered_or_refused_quickly(query: str) -> None:
    with contextlib.suppress(BadDataError):
        engine(SERIES).instant(query, 0)


@given(st.text(alphabet='x{}()[]=~!"a1m5@+-*/^% ,:offsetbyrate', max_size=40))
def test_garbage_gets_an_answer_or_an_error(text: str) -> None:
    with contextlib.suppress(QueryError):
        engine(SERIES).instant(text, MINUTE)


@pytest.mark.parametrize("seed", range(3))
def test_generated_queries_over_nothing_are_answered(seed: int) -> None:
    generator = Generator(seed, nested_subqueries=True)
    nothing = engine({})
    for _ in range(100):
        with contextlib.suppress(QueryError):
            nothing.range(generator.query(), 0, 10 * MINUTE, MINUTE)
