"""Queries of many operators, in pieces.

The parser copies all it has at every operator, so that a thousand of them take it seconds, and a tree as
deep as that cannot be walked by recursion. A long row of operators is therefore cut out of the text, and a
call stands in its place that carries the row. Its operands are parsed each alone, and combined in turn.
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

AT_ONCE = 100  # operators in a row that the parser is given together
MOST_OPERATORS = 10_000
MOST_NESTED = 200  # brackets that are open at once

_CALLS = {"scalar": "vigie_long_scalar", "vector": "vigie_long_vector"}  # by what the row gives
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
    """Operands in a row; each operator, with its modifiers, combines what is left of it with one operand."""

    first: Expr
    rest: list[tuple[BinaryExpr, Expr]]
    kind: str


def shorten(text: str) -> str:
    """Return the query with every long row of operators in a call, and refuse what is endless."""
    if len(text) <= 2 * AT_ONCE:  # too short for a long row
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
    """Return the row that a call stands for, if it does."""
    if call.func.name not in _CALLS.values():
        return None
    argument = call.args[0]
    try:
        found = (
            chain(binascii.unhexlify(argument.val).decode()) if isinstance(argument, StringLiteral) else None
        )
    except ValueError:
        found = None
    if found is None or _CALLS[found.kind] != call.func.name:  # who writes it by hand may write anything
        raise NotParsedError(f"{call.func.name}() is not for use")
    return found


@lru_cache(maxsize=64)
def chain(text: str) -> OperatorChain:
    """Return the row of operators that bind the least in a query."""
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
    """Return the query with what stands in outer brackets shortened."""
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
    """Return where the operand starts, behind bool, on (...), group_left (...) and their like."""
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
