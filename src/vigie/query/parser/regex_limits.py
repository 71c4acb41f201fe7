"""Patterns that are dear to compile: the parser compiles all of a query, and cannot be stopped meanwhile.

One that repeats a large class of letters takes it a tenth of a second, and a query has room for thousands.
Where there are many they are given to it one by one first, against the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

from vigie.query.parser.grammar import EndlessError, NotParsedError, parse_tree_unguarded
from vigie.query.parser.tokens import tokens

FEW = 5  # patterns that are not worth a look
MOST_SECONDS = 2.0  # of this thread alone; five thousand names, as one pattern, take 0.03
_MARKS = ("=~", "!~")


def check_regexes(text: str, clock: Callable[[], float] = time.thread_time) -> None:
    """Raise if the patterns of a text take too long to compile."""
    if text.count("~") <= FEW:
        return
    begun = clock()
    for mark, value in pairwise(tokens(text)):
        if mark.text in _MARKS and value.kind == "string":
            _compile(value.text)
            if clock() - begun > MOST_SECONDS:
                raise EndlessError("the patterns take too long to compile; use fewer, or simpler ones")


def _compile(quoted: str) -> None:
    try:
        parse_tree_unguarded(f"{{a=~{quoted}}}")
    except NotParsedError:
        pass  # what is wrong is told when the whole is parsed
