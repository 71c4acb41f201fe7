"""Matches series against selectors; regular expressions are RE2 and fully anchored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import re2  # type: ignore[import-untyped]
from promql_parser import Matcher as ParsedMatcher
from promql_parser import MatchOp, VectorSelector

from vigie.query.errors import BadDataError
from vigie.query.label_table import NAME
from vigie.query.storage import Labels, Matcher

EVERYTHING = (Matcher(NAME, "=~", ".+"),)

Test = Callable[[str], bool]


class RegexMatch(Protocol):
    def group(self, index: int | str) -> str | None: ...


class RegexPattern(Protocol):
    groups: int
    groupindex: dict[str, int]

    def fullmatch(self, text: str) -> RegexMatch | None: ...


@lru_cache(maxsize=1024)
def compile_regex(text: str) -> RegexPattern:
    """Compile an anchored pattern; a dot also matches a newline."""
    options = re2.Options()
    options.log_errors = False
    try:
        compiled: RegexPattern = re2.compile(f"(?s:{text})", options=options)
    except re2.error as error:
        raise BadDataError(f"error parsing regexp: {error}") from error
    return compiled


def compile_value_test(matcher: Matcher) -> Test:
    """Return a function that tests a label value."""
    wanted = matcher.value
    if matcher.operator == "=":
        return lambda value: value == wanted
    if matcher.operator == "!=":
        return lambda value: value != wanted
    fits = compile_regex(wanted).fullmatch
    if matcher.operator == "=~":
        return lambda value: fits(value) is not None
    return lambda value: fits(value) is None


def compile_series_test(matchers: Sequence[Matcher]) -> Callable[[Labels], bool]:
    """Return a function that tests a label set."""
    tests = [(matcher.label, compile_value_test(matcher)) for matcher in matchers]
    return lambda labels: all(test(labels.get(label, "")) for label, test in tests)


def matchers_of(selector: VectorSelector) -> list[Matcher]:
    """Return the matchers of a selector, including its name."""
    named = [Matcher(NAME, "=", selector.name)] if selector.name else []
    return named + [Matcher(each.name, _operator(each), each.value) for each in selector.matchers.matchers]


def selects_one_metric(matchers: list[Matcher]) -> bool:
    """Report whether all series have the same name, so that dropping it creates no duplicates."""
    return any(matcher.label == NAME and matcher.operator == "=" and matcher.value for matcher in matchers)


def _operator(matcher: ParsedMatcher) -> str:
    if matcher.op == MatchOp.Equal:
        return "="
    if matcher.op == MatchOp.NotEqual:
        return "!="
    return "=~" if matcher.op == MatchOp.Re else "!~"
