"""A matcher made ready to be asked about many values."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import re2  # type: ignore[import-untyped]

from vigie.query.storage import Matcher
from vigie.store.errors import InvalidMatcherError

MOST_ANSWERS = 10_000  # that are remembered
_LITERAL = re.compile(r"[\w:]+(\|[\w:]+)*", re.ASCII)


class CompiledMatcher:
    """Tells whether a label's value is wanted; an absent label is asked about as the empty value."""

    def __init__(self, matcher: Matcher) -> None:
        self.label = matcher.label
        self.exactly = matcher.value if matcher.operator == "=" else None
        self.among = _listed(matcher)  # all values that fit, if these can be told
        self._asked: dict[str, bool] = {}
        self._judge = _judge(matcher)

    def test(self, value: str) -> bool:
        """Answer, from memory where the value was seen before."""
        answer = self._asked.get(value)
        if answer is None:
            if len(self._asked) >= MOST_ANSWERS:
                self._asked = {}
            answer = self._asked[value] = self._judge(value)
        return answer


@lru_cache(maxsize=256)
def compile_matcher(matcher: Matcher) -> CompiledMatcher:
    """Return the condition of a matcher; the same object while it is asked about again and again."""
    return CompiledMatcher(matcher)


def _listed(matcher: Matcher) -> tuple[str, ...] | None:
    if matcher.operator == "=":
        return (matcher.value,)
    if matcher.operator == "=~" and _LITERAL.fullmatch(matcher.value):
        return tuple(dict.fromkeys(matcher.value.split("|")))
    return None


def _judge(matcher: Matcher) -> Callable[[str], bool]:
    wanted = matcher.value
    if matcher.operator == "=":
        return wanted.__eq__
    if matcher.operator == "!=":
        return wanted.__ne__
    if matcher.operator not in ("=~", "!~"):
        raise InvalidMatcherError(f"{matcher.operator!r} is not an operator; there are =, !=, =~ and !~")
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True  # as in Prometheus, where a dot is any character
    try:
        pattern = re2.compile(wanted, options)
    except re2.error as error:
        raise InvalidMatcherError(f"{wanted!r} is not a regular expression that RE2 knows: {error}") from None
    if matcher.operator == "=~":
        return lambda value: pattern.fullmatch(value) is not None
    return lambda value: pattern.fullmatch(value) is None
