"""Any text is a query or bad data."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import promql_parser
from hypothesis import example, given
from hypothesis import strategies as st

from tests.query.test_engine import WORDS
from vigie.query.errors import BadDataError
from vigie.query.parser.parse import format_query, parse, parse_selector
from vigie.query.parser.structure import analyze_structure
from vigie.query.parser.tokens import tokens

MORE = (
    "info(",
    ",{",
    "step()",
    "range()",
    "min(",
    "max(",
    "offset -",
    "[",
    "]",
    " anchored",
    " smoothed",
    "'",
)


@given(
    st.text(max_size=40)
    | st.binary(max_size=30).map(lambda raw: raw.decode("latin-1"))
    | st.lists(st.sampled_from(WORDS + MORE), max_size=25).map("".join)
)
@example("info(x,{")
@example("[" * 300)
@example("x offset min(" * 3)
@example("\ud800")
def test_any_text_is_a_tree_or_bad_data(text: str) -> None:
    with contextlib.suppress(BadDataError):
        assert isinstance(parse(text, 15.0, 600.0), promql_parser.Expr)
    with contextlib.suppress(BadDataError):
        assert isinstance(format_query(text), str)
    with contextlib.suppress(BadDataError):
        parse_selector(text)


@given(st.text(alphabet="x1.emsh_ (){}[]\"'`#\n+-=~!<>é", max_size=60))
def test_words_stand_where_they_say(text: str) -> None:
    words = tokens(text)
    assert all(text[word.start : word.end] == word.text for word in words)
    assert all(one.end <= other.start for one, other in pairwise(words))
    assert analyze_structure(words).operators <= len(words)
