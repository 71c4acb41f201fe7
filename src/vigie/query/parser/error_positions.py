"""Finds the position of a syntax error: the parser gives reasons without positions.

Parts of the query are parsed again. For a grammar error, the position is the first token with which no query
can start; for a type error, the smallest part with the same error.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from typing import NamedTuple

from vigie.query.parser.structure import analyze_structure
from vigie.query.parser.tokens import CLOSING, COMPARISONS, Token, match_brackets, tokens

MAX_TEXT = 1000  # longer queries get no position
MAX_TRIES = 400
MAX_SECONDS = 0.5  # CPU time of this thread
GRAMMAR = re.compile(r"invalid promql query|unexpected |unclosed |unterminated |bad number|no expression")
_FILLERS = ("", " x", " 5m", "1", '"a"', '="a"', " (a) (x)", "(x)")
_LATER = ("", "(x)", " x")
_UNSUPPORTED = ("anchored", "smoothed")
_KIND_NAMES = {"name": "identifier", "mark": "character"}

Reason = Callable[[str], str | None]  # the error of a text, None if it is a query


class SyntaxFault(NamedTuple):
    """The reason of an error, and its position if it was found."""

    reason: str
    position: int | None


class _TooManyTriesError(Exception):
    pass


def locate_fault(text: str, reason: str, find_reason: Reason) -> SyntaxFault:
    """Return the position of an error, and a reason where the parser has none."""
    if len(text) > MAX_TEXT:
        return SyntaxFault(reason, None)
    words = tokens(text)
    tries, started = itertools.count(), time.thread_time()

    def find_bounded(part: str) -> str | None:
        if next(tries) >= MAX_TRIES or time.thread_time() - started > MAX_SECONDS:
            raise _TooManyTriesError
        return find_reason(part)

    try:
        if GRAMMAR.match(reason):
            return _describe_unexpected(text, words, _count_valid_tokens(text, words, find_bounded), reason)
        return SyntaxFault(reason, _find_smallest_part(text, words, reason, find_bounded))
    except _TooManyTriesError:
        return SyntaxFault(reason, None)


def describe_token(text: str, position: int) -> str:
    """Return line and column, both from 1; columns count bytes, as in Prometheus."""
    before = text[:position]
    return f"{before.count(chr(10)) + 1}:{len(before[before.rfind(chr(10)) + 1 :].encode()) + 1}"


def _describe_unexpected(text: str, words: list[Token], count: int, reason: str) -> SyntaxFault:
    """Describe the error at the token after the longest valid start."""
    if count == len(words):
        if words and reason.startswith(("invalid", "no expression")):
            reason = "unexpected end of input"
        return SyntaxFault(reason, len(text.rstrip()) if words else 0)
    bad = words[count]
    if bad.word in _UNSUPPORTED:
        return SyntaxFault(f"the {bad.word} modifier is not supported", bad.start)
    if reason.startswith("bad number") and count and words[count - 1].end == bad.start:
        return SyntaxFault(reason, words[count - 1].start)
    if reason.startswith("unexpected right parenthesis"):
        return SyntaxFault(reason, bad.end)  # Prometheus reports it after reading the token
    if reason.startswith(("invalid", "unclosed", "unexpected end")):
        reason = f'unexpected {_KIND_NAMES.get(bad.kind, bad.kind)} "{bad.text}"'
    return SyntaxFault(reason, bad.start)


def _count_valid_tokens(text: str, words: list[Token], find_reason: Reason) -> int:
    """Return the number of tokens of the longest valid start."""
    good, bad = 0, len(words) + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if _is_valid_start(text[: words[middle - 1].end], words[:middle], find_reason):
            good = middle
        else:
            bad = middle
    return good


def _is_valid_start(start: str, words: list[Token], find_reason: Reason) -> bool:
    closed = match_brackets(words)
    opened = [token.text for i, token in enumerate(words) if token.text in CLOSING and i not in closed]
    ends = "".join(CLOSING[bracket] for bracket in reversed(opened))
    for filler, later in itertools.product(_FILLERS, _LATER):
        for cut in {0, min(1, len(ends)), len(ends)} if later else {0}:
            reason = find_reason(start + filler + ends[:cut] + later + ends[cut:])
            if reason is None or not GRAMMAR.match(reason):
                return True
    return False


def _find_smallest_part(text: str, words: list[Token], reason: str, find_reason: Reason) -> int | None:
    """Return the position of the smallest part with this error."""
    parts = [(0, len(words) - 1)]
    for start, end in match_brackets(words).items():
        named = start > 0 and words[start - 1].kind == "name"
        parts += [(start - named, end), (start + 1, end - 1)]
    for start, end in sorted(parts, key=lambda part: part[1] - part[0]):
        if end >= start and find_reason(text[words[start].start : words[end].end]) == reason:
            return _position_in_part(words[start : end + 1], reason)
    return None


def _position_in_part(words: list[Token], reason: str) -> int | None:
    """Return the position of an error within a part: its operator or argument, or its start."""
    if "comparisons" in reason:
        found = [
            words[position]
            for position in analyze_structure(words).outer
            if words[position].word in COMPARISONS
        ]
        return found[0].start if len(found) == 1 else None
    if "expected type" in reason and all(token.text != "," for token in words) and len(words) > 2:
        return words[2].start  # after the function name and its bracket
    return words[0].start
