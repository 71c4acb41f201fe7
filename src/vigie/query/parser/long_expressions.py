"""Queries with many operators, parsed in pieces.

The parser's cost grows with the square of the number of operators, and very deep trees cannot be walked
recursively. A long chain of operators is therefore replaced by a call that carries its text. Its operands are
parsed one by one, and evaluated in order.
"""

from __future__ import annotations

import binascii
from functools import lru_cache
from typing import NamedTuple

import promql_parser
from promql_parser import BinaryExpr, Call, Expr, Function, StringLiteral, ValueType

from vigie.query.parser.grammar import EndlessError, NotParsedError, node_kind, parse_tree
from vigie.query.parser.structure import structure_of
from vigie.query.parser.tokens import COMPARISONS, MODIFIERS, Token, pairs, tokens

AT_ONCE = 100  # operators of a chain that are parsed at once
MOST_OPERATORS = 10_000
MOST_NESTED = 200  # nested brackets

_CALLS = {"scalar": "vigie_long_scalar", "vector": "vigie_long_vector"}  # by the type of the chain
_BINDING = {"or": 1, "and": 2, "unless": 2, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5, "atan2": 5, "^": 6}
_BINDING |= dict.fromkeys(COMPARISONS, 3)
_STAND_INS = {"scalar": "1", "vector": "x", "string": '""', "matrix": "x[1m]"}

promql_parser.register_extra_functions(
    [
        Function(_CALLS["scalar"], [ValueType.String], ValueType.Scalar),
        Function(_CALLS["vector"], [ValueType.String], ValueType.Vector),
    ]
)


class OperatorChain(NamedTuple):
    """Operators of one precedence, each with its modifiers and its right operand."""

    first: Expr
    rest: list[tuple[BinaryExpr, Expr]]
    kind: str


def shorten(text: str) -> str:
    """Replace every long chain of operators by a call, and reject queries beyond the limits."""
    if len(text) <= 2 * AT_ONCE:  # too short for a long chain
        return text
    shape = structure_of(tokens(text))
    if shape.nested > MOST_NESTED:
        raise EndlessError(f"more than {MOST_NESTED} brackets in one another")
    if shape.operators > MOST_OPERATORS:
        raise EndlessError(f"more than {MOST_OPERATORS:,} operators")
    if shape.longest <= AT_ONCE:
        return text
    text = _with_short_brackets(text)
    words = tokens(text)
    outer = structure_of(words).outer
    if len(outer) <= AT_ONCE or all(words[place].text == "^" for place in outer):
        return text
    return f'{_CALLS[chain(text).kind]}("{binascii.hexlify(text.encode()).decode()}")'


def chain_of(call: Call) -> OperatorChain | None:
    """Return the chain that a call stands for, if any."""
    if call.func.name not in _CALLS.values():
        return None
    argument = call.args[0]
    try:
        found = (
            chain(binascii.unhexlify(argument.val).decode()) if isinstance(argument, StringLiteral) else None
        )
    except ValueError:
        found = None
    if found is None or _CALLS[found.kind] != call.func.name:  # the call may have been written by hand
        raise NotParsedError(f"{call.func.name}() is not for use")
    return found


@lru_cache(maxsize=64)
def chain(text: str) -> OperatorChain:
    """Split a query at its operators of lowest precedence."""
    words = tokens(text)
    outer = structure_of(words).outer
    if not outer:
        raise NotParsedError("no operators")
    least = min(_BINDING[words[place].word] for place in outer)
    cuts = [place for place in outer if _BINDING[words[place].word] == least]
    closing = pairs(words)
    starts = [_operand_after(words, cut, closing) for cut in cuts]
    first = _operand(text, words, 0, cuts[0])
    kind = node_kind(first)
    rest = []
    for cut, start, end in zip(cuts, starts, [*cuts[1:], len(words)], strict=True):
        operand = _operand(text, words, start, end)
        operator = _operator(_text(text, words, cut, start), kind, node_kind(operand))
        rest.append((operator, operand))
        kind = node_kind(operator)
    return OperatorChain(first, rest, kind)


def _with_short_brackets(text: str) -> str:
    """Shorten the content of outer brackets."""
    words = tokens(text)
    made, done, place = "", 0, 0
    closing = pairs(words)
    while place < len(words):
        end = closing.get(place)
        if end is not None and words[place].text == "(":
            made += text[done : words[place].end] + _short_arguments(text, words, place + 1, end, closing)
            done = words[end].start
        place = place + 1 if end is None else end + 1
    return made + text[done:]


def _short_arguments(text: str, words: list[Token], start: int, end: int, closing: dict[int, int]) -> str:
    commas, place = [start - 1], start
    while place < end:
        if words[place].text == ",":
            commas.append(place)
        place = closing.get(place, place) + 1
    bounds = zip(commas, [*commas[1:], end], strict=True)
    return ", ".join(shorten(_text(text, words, comma + 1, stop)) for comma, stop in bounds)


def _operand_after(words: list[Token], operator: int, closing: dict[int, int]) -> int:
    """Return where the operand starts, after bool, on (...), group_left (...) and the like."""
    place = operator + 1
    while place < len(words) and (words[place].word == "bool" or words[place].word in MODIFIERS):
        takes_labels = words[place].word != "bool"
        place += 1
        if takes_labels and place in closing:
            place = closing[place] + 1
    return place


def _operand(text: str, words: list[Token], start: int, end: int) -> Expr:
    return parse_tree(shorten(_text(text, words, start, end)))


@lru_cache(maxsize=256)
def _operator(text: str, left: str, right: str) -> BinaryExpr:
    tree = parse_tree(f"{_STAND_INS[left]} {text} {_STAND_INS[right]}")
    assert isinstance(tree, BinaryExpr)
    return tree


def _text(text: str, words: list[Token], start: int, end: int) -> str:
    return text[words[start].start : words[end - 1].end] if end > start else ""
