"""Tokenizes queries, for what has to be known before parsing."""

from __future__ import annotations

import re
from typing import NamedTuple

STRING = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`'
_NUMBER = r"0[xX][0-9a-fA-F]+|(?:\d+(?:ms|[smhdwy]))+(?!\w)|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TOKEN = re.compile(
    rf"(?P<space>\s+|\#[^\n]*)|(?P<string>{STRING})|(?P<number>{_NUMBER})|(?P<name>[a-zA-Z_:][\w:]*)"
    r"|(?P<mark>=~|!~|==|!=|<=|>=|.)",
    re.DOTALL | re.ASCII,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
OPERATORS = COMPARISONS | {"+", "-", "*", "/", "%", "^", "and", "or", "unless", "atan2"}
MODIFIERS = frozenset({"on", "ignoring", "group_left", "group_right", "fill", "fill_left", "fill_right"})


class Token(NamedTuple):
    """A string, number, name or punctuation mark, and its position."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """Return the text as keywords are compared; a string is never a keyword."""
        return "" if self.kind == "string" else self.text.lower()


def tokens(text: str) -> list[Token]:
    """Tokenize any text; unknown characters become marks."""
    return [
        Token(found.lastgroup, found[0], found.start())
        for found in _TOKEN.finditer(text)
        if found.lastgroup and found.lastgroup != "space"
    ]


def match_brackets(words: list[Token]) -> dict[int, int]:
    """Return the closing bracket of each opening one, by token index."""
    open_ones: list[int] = []
    closed: dict[int, int] = {}
    for index, token in enumerate(words):
        if token.kind == "mark" and token.text in CLOSING:
            open_ones.append(index)
        elif open_ones and token.text == CLOSING[words[open_ones[-1]].text]:
            closed[open_ones.pop()] = index
    return closed
