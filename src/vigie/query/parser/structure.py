"""The structure of a query from its tokens: operators and nesting."""

from __future__ import annotations

from typing import NamedTuple

from vigie.query.parser.tokens import CLOSING, MODIFIERS, OPERATORS, Token

_BEFORE_AN_OPERAND = MODIFIERS | {",", "@", "offset", "bool"}


class QueryStructure(NamedTuple):
    """Operators between two operands, all and those outside of brackets, by token index.

    `longest` is the length of the longest chain, signs included; `nested` is the number of open brackets, and
    `depth` an upper bound for the depth of the tree.
    """

    operators: int
    outer: list[int]
    longest: int
    nested: int
    depth: int


class _Level:
    def __init__(self, bracket: str, modifies: bool) -> None:
        self.bracket, self.modifies = bracket, modifies
        self.row = self.inside = 0

    @property
    def depth(self) -> int:
        return self.row + self.inside


def analyze_structure(words: list[Token]) -> QueryStructure:
    """Return the structure of a query, which may be invalid."""
    levels = [_Level("(", False)]
    outer: list[int] = []
    operators = longest = nested = 0
    operand = False  # whether one has just ended
    for index, token in enumerate(words):
        word, before = token.word, words[index - 1].word if index else ""
        if word in CLOSING:
            levels.append(_Level(word, before in MODIFIERS))
            nested = max(nested, len(levels) - 1)
            operand = False
        elif word in CLOSING.values() and len(levels) > 1:
            done = levels.pop()
            levels[-1].inside = max(levels[-1].inside, done.depth + 1)
            operand = not done.modifies
        elif levels[-1].bracket == "(" and word in OPERATORS:
            if operand or before not in ("@", "offset"):
                levels[-1].row += 1
                longest = max(longest, levels[-1].row)
            if operand:
                operators += 1
                if len(levels) == 1:
                    outer.append(index)
            operand = False
        else:
            operand = word not in _BEFORE_AN_OPERAND
    while len(levels) > 1:
        done = levels.pop()
        levels[-1].inside = max(levels[-1].inside, done.depth + 1)
    return QueryStructure(operators, outer, longest, nested, levels[0].depth)
