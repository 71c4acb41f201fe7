"""A matcher compiled for testing many values."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import re2  # type: ignore[import-untyped]

from vigie.query.storage import Matcher
from vigie.store.errors import InvalidMatcherError

MAX_CACHED = 10_000  # results per matcher
_LITERAL = re.compile(r"[\w:]+(\|[\w:]+)*", re.ASCII)


class CompiledMatcher:
    """Tests label values, with a cache; an absent label has the empty value."""

    def __init__(self, matcher: Matcher) -> None:
        self.label = matcher.label
        self.exactly = matcher.value if matcher.operator == "=" else None
        self.values = _list_values(matcher)  # all matching values, if they can be listed
        self._cache: dict[str, bool] = {}
        self._build_test = _build_test(matcher)

    def test(self, value: str) -> bool:
        answer = self._cache.get(value)
        if answer is None:
            if len(self._cache) >= MAX_CACHED:
                self._cache = {}
            answer = self._cache[value] = self._build_test(value)
        return answer


@lru_cache(maxsize=256)
def compile_matcher(matcher: Matcher) -> CompiledMatcher:
    """Return a cached object for equal matchers."""
    return CompiledMatcher(matcher)


def _list_values(matcher: Matcher) -> tuple[str, ...] | None:
    if matcher.operator == "=":
        return (matcher.value,)
    if matcher.operator == "=~" and _LITERAL.fullmatch(matcher.value):
        return tuple(dict.fromkeys(matcher.value.split("|")))
    return None


def _build_test(matcher: Matcher) -> Callable[[str], bool]:
    wanted = matcher.value
    if matcher.operator == "=":
        return wanted.__eq__
    if matcher.operator == "!=":
        return wanted.__ne__
    if matcher.operator not in ("=~", "!~"):
        raise InvalidMatcherError(f"{matcher.operator!r} is not an operator; there are =, !=, =~ and !~")
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True  # as in Prometheus, where a dot matches any character
    try:
        pattern = re2.compile(wanted, options)
    except re2.error as error:
        raise InvalidMatcherError(f"{wanted!r} is not a regular expression that RE2 knows: {error}") from None
    if matcher.operator == "=~":
        return lambda value: pattern.fullmatch(value) is not None
    return lambda value: pattern.fullmatch(value) is None
