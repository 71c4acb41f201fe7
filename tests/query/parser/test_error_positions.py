"""Where Prometheus 2.42 says that a query is wrong, or 3 where 2.42 knows no such thing."""

from __future__ import annotations

import pytest

from vigie.query.errors import BadDataError
from vigie.query.parser.parse import parse

PLACES = {
    "sum(x": "1:6",
    "rate(x)": "1:6",
    "x offset": "1:9",
    "1 + nosuch(x) + 2": "1:5",
    "x + {}": "1:5",
    '{a=""}': "1:1",
    "1 > 2": "1:3",
    "2 * (1 > 2)": "1:8",
    "x+": "1:3",
    "x y": "1:3",
    "x{a=1}": "1:5",
    "1 2": "1:3",
    "x)": "1:3",
    "x[5m": "1:5",
    "x[5m]]": "1:6",
    "": "1:1",
    "sum by (a (x)": "1:11",
    '"abc': "1:1",
    "x{a='b}": "1:5",
    "5 and x": "1:1",
    "x @ y": "1:5",
    "$a": "1:1",
    "x{a~'b'}": "1:4",
    "sum(rate(x[5m],1))": "1:5",
    "1_000": "1:1",
    "sum(x,y)": "1:1",
    "x +\n y z": "2:4",
    "sum by (a) (x) y": "1:16",
    "x[5m] + 1": "1:1",
    "x * on (a group_left y": "1:11",
    "x{a='é'} y": "1:11",  # columns are bytes
    "topk(x)": "1:1",
    "sum(rate(x[5m]) by (a)": "1:17",
    "x{,}": "1:3",
    "(1+2": "1:5",
    "1 +* 2": "1:4",
    "-'a'": "1:1",
    "a{b='c'}{d='e'}": "1:9",
    "x[5m:1m]]": "1:9",
}


@pytest.mark.parametrize("query", PLACES)
def test_error_tells_line_and_column(query: str) -> None:
    with pytest.raises(BadDataError, match=rf'^invalid parameter "query": {PLACES[query]}: parse error: '):
        parse(query)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("x y", '1:3: parse error: unexpected identifier "y"'),
        ("1 2", '1:3: parse error: unexpected number "2"'),
        ("x+", "1:3: parse error: unexpected end of input"),
        ("x[5m] anchored", "1:7: parse error: the anchored modifier is not supported"),
        ("rate(x[5m] smoothed)", "1:12: parse error: the smoothed modifier is not supported"),
    ],
)
def test_what_the_parser_has_no_words_for_is_reported(query: str, words: str) -> None:
    with pytest.raises(BadDataError) as caught:
        parse(query)
    assert str(caught.value) == f'invalid parameter "query": {words}'


@pytest.mark.parametrize("query", ["x y" + " " * 1000 + "z", "1 > 2 > 3", "+".join(["1"] * 600) + "+"])
def test_no_place_is_given_where_none_is_known(query: str) -> None:
    with pytest.raises(BadDataError, match=r'^invalid parameter "query": parse error: '):
        parse(query)
