"""Limits the time to compile regular expressions, which the parser cannot interrupt.

One that repeats a large character class takes it 0.1 s, and a query has room for thousands. If there are
many, they are compiled one by one first, with a time limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

from vigie.query.parser.grammar import LimitExceededError, ParseError, parse_tree_unguarded
from vigie.query.parser.tokens import tokens

MAX_UNCHECKED = 5  # patterns that need no check
MAX_SECONDS = 2.0  # CPU time of this thread; one pattern of 5000 names takes 0.03
_MARKS = ("=~", "!~")


def check_regexes(text: str, clock: Callable[[], float] = time.thread_time) -> None:
    """Raise if the patterns of a text take too long to compile."""
    if text.count("~") <= MAX_UNCHECKED:
        return
    started = clock()
    for mark, value in pairwise(tokens(text)):
        if mark.text in _MARKS and value.kind == "string":
            _compile(value.text)
            if clock() - started > MAX_SECONDS:
                raise LimitExceededError("the patterns take too long to compile; use fewer, or simpler ones")


def _compile(quoted: str) -> None:
    try:
        parse_tree_unguarded(f"{{a=~{quoted}}}")
    except ParseError:
        pass  # reported when the whole query is parsed
