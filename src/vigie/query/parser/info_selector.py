"""The second argument of info(), which gets a matcher that the parser accepts without a metric name."""

from __future__ import annotations

from promql_parser import Expr, VectorSelector

from vigie.query.parser.grammar import NotParsedError
from vigie.query.parser.tokens import pairs, tokens
from vigie.query.storage import Matcher

MARK = Matcher("__info__", "=", "1")


def with_marked_selectors(query: str) -> str:
    """Add a marker matcher to every second argument of info()."""
    if "info" not in query.lower():
        return query
    words = tokens(query)
    closing = pairs(words)
    places = []
    for index in range(len(words) - 1):
        if words[index].word == "info" and words[index + 1].text == "(":
            place, end = index + 2, closing.get(index + 1, len(words))
            while place < end and words[place].text != ",":
                place = closing.get(place, place) + 1
            if place + 1 < end and words[place + 1].text == "{":
                places.append(words[place + 1].end)
    for place in reversed(places):
        query = f'{query[:place]}{MARK.label}="{MARK.value}",{query[place:]}'
    return query


def refuse_other_than_labels(argument: Expr) -> None:
    """Raise unless the second argument of info() is label matchers in braces."""
    if not isinstance(argument, VectorSelector) or argument.offset or argument.at:
        raise NotParsedError("expected label selectors only")
    if argument.name:
        raise NotParsedError("expected label selectors only, got vector selector instead")
