"""Patterns that are dear to compile are refused before the parser is lost in them."""

from __future__ import annotations

import itertools

import pytest

from vigie.query.errors import BadDataError
from vigie.query.parser.grammar import LimitExceededError
from vigie.query.parser.parse import parse
from vigie.query.parser.regex_limits import MAX_SECONDS, check_regexes
from vigie.server.http.requests import Parameters

DEAR = r'a=~"{number}\\pL{{1,180}}"'  # each a different one, that nobody has compiled before


def dear(count: int, first: int = 0) -> str:
    return ", ".join(DEAR.format(number=number) for number in range(first, first + count))


def test_a_query_of_dear_patterns_is_refused() -> None:
    with pytest.raises(BadDataError, match="patterns take too long to compile"):
        parse(f"x{{{dear(5000)}}}")


def test_dear_patterns_of_many_selectors_are_refused_together() -> None:
    fields = b"&".join(b"match[]=x{%b}" % dear(1, number).encode() for number in range(5000))
    with pytest.raises(BadDataError, match=r'invalid parameter "match\[\]": the patterns take too long'):
        Parameters(fields).selectors()


def test_the_place_of_an_error_is_not_looked_for_among_dear_patterns() -> None:
    with pytest.raises(BadDataError, match=r'"query": parse error'):  # without line and column
        parse(f"x{{{dear(5, 7000)}}} + y)")


def test_a_few_patterns_and_any_number_of_quick_ones_pass() -> None:
    parse(f"x{{{dear(2, 9000)}}}")
    names = "|".join(f"gpu-node-{number:05}" for number in range(1000))
    parse(" or ".join(f'x{number}{{instance=~"{names}", a!~"b.*"}}' for number in range(20)))


def test_only_patterns_are_looked_at() -> None:
    slow = itertools.count(0.0, MAX_SECONDS * 2).__next__  # a clock by which all takes too long
    check_regexes('x{a="=~", b="!~", c="~~~~~~", d="~"} # =~ "x"', slow)
    with pytest.raises(LimitExceededError):
        check_regexes('x{a=~"(", b="~~~~~~"}', slow)
