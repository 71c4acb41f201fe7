"""The second argument of info(), which gets a matcher that the parser accepts without a metric name."""

from __future__ import annotations

from promql_parser import Expr, VectorSelector

from vigie.query.parser.grammar import ParseError
from vigie.query.parser.tokens import match_brackets, tokens
from vigie.query.storage import Matcher

INFO_MARK = Matcher("__info__", "=", "1")


def mark_info_selectors(query: str) -> str:
    """Add a marker matcher to every second argument of info()."""
    if "info" not in query.lower():
        return query
    words = tokens(query)
    closing = match_brackets(words)
    places = []
    for index in range(len(words) - 1):
        if words[index].word == "info" and words[index + 1].text == "(":
            place, end = index + 2, closing.get(index + 1, len(words))
            while place < end and words[place].text != ",":
                place = closing.get(place, place) + 1
            if place + 1 < end and words[place + 1].text == "{":
                places.append(words[place + 1].end)
    for place in reversed(places):
        query = f'{query[:place]}{INFO_MARK.label}="{INFO_MARK.value}",{query[place:]}'
    return query


def check_info_selector(argument: Expr) -> None:
    """Raise unless the second argument of info() is label matchers in braces."""
    if not isinstance(argument, VectorSelector) or argument.offset or argument.at:
        raise ParseError("expected label selectors only")
    if argument.name:
        raise ParseError("expected label selectors only, got vector selector instead")
