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

from vigie.query.parser.grammar import LimitExceededError, ParseError, node_kind, parse_tree
from vigie.query.parser.structure import analyze_structure
from vigie.query.parser.tokens import COMPARISONS, MODIFIERS, Token, match_brackets, tokens

MAX_CHAIN = 100  # operators of a chain that are parsed at once
MAX_OPERATORS = 10_000
MAX_NESTING = 200  # nested brackets

_CALLS = {"scalar": "vigie_long_scalar", "vector": "vigie_long_vector"}  # by the type of the chain
_PRECEDENCE = {"or": 1, "and": 2, "unless": 2, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5, "atan2": 5, "^": 6}
_PRECEDENCE |= dict.fromkeys(COMPARISONS, 3)
_PLACEHOLDERS = {"scalar": "1", "vector": "x", "string": '""', "matrix": "x[1m]"}

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
    if len(text) <= 2 * MAX_CHAIN:  # too short for a long chain
        return text
    structure = analyze_structure(tokens(text))
    if structure.nested > MAX_NESTING:
        raise LimitExceededError(f"more than {MAX_NESTING} brackets in one another")
    if structure.operators > MAX_OPERATORS:
        raise LimitExceededError(f"more than {MAX_OPERATORS:,} operators")
    if structure.longest <= MAX_CHAIN:
        return text
    text = _shorten_brackets(text)
    words = tokens(text)
    outer = analyze_structure(words).outer
    if len(outer) <= MAX_CHAIN or all(words[index].text == "^" for index in outer):
        return text
    return f'{_CALLS[parse_chain(text).kind]}("{binascii.hexlify(text.encode()).decode()}")'


def find_chain(call: Call) -> OperatorChain | None:
    """Return the chain that a call stands for, if any."""
    if call.func.name not in _CALLS.values():
        return None
    argument = call.args[0]
    try:
        found = (
            parse_chain(binascii.unhexlify(argument.val).decode())
            if isinstance(argument, StringLiteral)
            else None
        )
    except ValueError:
        found = None
    if found is None or _CALLS[found.kind] != call.func.name:  # the call may have been written by hand
        raise ParseError(f"{call.func.name}() is not for use")
    return found


@lru_cache(maxsize=64)
def parse_chain(text: str) -> OperatorChain:
    """Split a query at its operators of lowest precedence."""
    words = tokens(text)
    outer = analyze_structure(words).outer
    if not outer:
        raise ParseError("no operators")
    least = min(_PRECEDENCE[words[index].word] for index in outer)
    cuts = [index for index in outer if _PRECEDENCE[words[index].word] == least]
    closing = match_brackets(words)
    starts = [_find_operand(words, cut, closing) for cut in cuts]
    first = _parse_operand(text, words, 0, cuts[0])
    kind = node_kind(first)
    rest = []
    for cut, start, end in zip(cuts, starts, [*cuts[1:], len(words)], strict=True):
        operand = _parse_operand(text, words, start, end)
        operator = _parse_operator(_slice(text, words, cut, start), kind, node_kind(operand))
        rest.append((operator, operand))
        kind = node_kind(operator)
    return OperatorChain(first, rest, kind)


def _shorten_brackets(text: str) -> str:
    """Shorten the content of outer brackets."""
    words = tokens(text)
    shortened, done, index = "", 0, 0
    closing = match_brackets(words)
    while index < len(words):
        end = closing.get(index)
        if end is not None and words[index].text == "(":
            shortened += text[done : words[index].end] + _shorten_arguments(
                text, words, index + 1, end, closing
            )
            done = words[end].start
        index = index + 1 if end is None else end + 1
    return shortened + text[done:]


def _shorten_arguments(text: str, words: list[Token], start: int, end: int, closing: dict[int, int]) -> str:
    commas, index = [start - 1], start
    while index < end:
        if words[index].text == ",":
            commas.append(index)
        index = closing.get(index, index) + 1
    bounds = zip(commas, [*commas[1:], end], strict=True)
    return ", ".join(shorten(_slice(text, words, comma + 1, stop)) for comma, stop in bounds)


def _find_operand(words: list[Token], operator: int, closing: dict[int, int]) -> int:
    """Return where the operand starts, after bool, on (...), group_left (...) and the like."""
    index = operator + 1
    while index < len(words) and (words[index].word == "bool" or words[index].word in MODIFIERS):
        takes_labels = words[index].word != "bool"
        index += 1
        if takes_labels and index in closing:
            index = closing[index] + 1
    return index


def _parse_operand(text: str, words: list[Token], start: int, end: int) -> Expr:
    return parse_tree(shorten(_slice(text, words, start, end)))


@lru_cache(maxsize=256)
def _parse_operator(text: str, left: str, right: str) -> BinaryExpr:
    tree = parse_tree(f"{_PLACEHOLDERS[left]} {text} {_PLACEHOLDERS[right]}")
    assert isinstance(tree, BinaryExpr)
    return tree


def _slice(text: str, words: list[Token], start: int, end: int) -> str:
    return text[words[start].start : words[end - 1].end] if end > start else ""
