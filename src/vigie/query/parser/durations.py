"""Duration expressions, as in x[5m * 2], x[2 * step()] or offset (1h - 5m).

The parser does not support them, so they are evaluated first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import numpy as np
from promql_parser import BinaryExpr, Call, Expr, NumberLiteral, ParenExpr, UnaryExpr

from vigie.query.arrays import Floats
from vigie.query.binary_ops.operators import ARITHMETIC, apply_operator
from vigie.query.parser.grammar import ParseError, parse_tree
from vigie.query.parser.tokens import STRING

_RANGE = re.compile(rf"{STRING}|\[[^\[\]\"'`]*\]", re.DOTALL)
_OFFSET = re.compile(
    rf"{STRING}|\boffset\s*([-+]?)\s*((?:\b(?:step|range|min|max)\s*)?\()", re.DOTALL | re.IGNORECASE
)
_COMPUTED = re.compile(r"[-+*/%^()]")
_WORD = re.compile(r"\b(?:min|max|step|range)\b", re.IGNORECASE)
_OF_THE_QUERY = re.compile(r"\b(?:step|range)\s*\(", re.IGNORECASE)
_FUNCTIONS = {"min": "min_of", "max": "max_of", "step": "step", "range": "range"}
_CHOICES: dict[str, Callable[[Floats, Floats], Floats]] = {"min_of": np.minimum, "max_of": np.maximum}

_ZERO = "0ms"

Variables = Mapping[str, float]


def depends_on_query(text: str) -> bool:
    """Report whether a query uses its own step or range."""
    return _OF_THE_QUERY.search(text) is not None


def evaluate_duration(query: str, step: float = 0.0, span: float = 0.0) -> str:
    """Replace every duration expression by its value, given the step and range of the query."""
    variables = {"step": step, "range": span}
    return _evaluate_offsets(_RANGE.sub(lambda found: _evaluate_range(found, variables), query), variables)


def _evaluate_range(found: re.Match[str], variables: Variables) -> str:
    text = found[0]
    if text[0] != "[" or not _COMPUTED.search(text):
        return text
    length, colon, step = text[1:-1].partition(":")
    return f"[{_evaluate_text(length, variables)}{colon}{_evaluate_text(step, variables)}]"


def _evaluate_offsets(query: str, variables: Variables) -> str:
    done, at = "", 0
    for found in _OFFSET.finditer(query):
        if found[2] is None or found.start() < at:
            continue
        end = _find_closing(query, found.end())
        seconds = _to_seconds(query[found.start(2) : end + 1], variables) * (-1 if found[1] == "-" else 1)
        length = _format_milliseconds(abs(seconds))
        done += query[at : found.start()]
        if length != _ZERO:  # the parser rejects it
            done += f"offset {'-' if seconds < 0 else ''}{length}"
        at = end + 1
    return done + query[at:]


def _find_closing(query: str, start: int) -> int:
    depth = 1
    for place in range(start, len(query)):
        depth += {"(": 1, ")": -1}.get(query[place], 0)
        if not depth:
            return place
    raise ParseError("unclosed left parenthesis")


def _evaluate_text(text: str, variables: Variables) -> str:
    if not _COMPUTED.search(text):
        return text
    seconds = _to_seconds(text, variables)
    if not seconds > 0:
        raise ParseError("duration must be greater than 0")
    return _format_milliseconds(seconds)


def _format_milliseconds(seconds: float) -> str:
    if not seconds < 2**63 / 1e9:
        raise ParseError("duration out of range")
    return f"{round(seconds * 1000)}ms"


def _to_seconds(text: str, variables: Variables) -> float:
    """Evaluate an expression of durations and numbers, in seconds."""
    try:
        tree = parse_tree(_WORD.sub(lambda found: _FUNCTIONS[found[0].lower()], text))
    except ParseError as error:
        raise ParseError(f"{text.strip()!r} is not a duration: {error}") from None
    seconds = float(_evaluate_tree(tree, variables)[0])
    if not math.isfinite(seconds):
        raise ParseError(f"{text.strip()!r} is not a finite duration")
    return seconds


def _evaluate_tree(tree: Expr, variables: Variables) -> Floats:
    match tree:
        case NumberLiteral():
            return np.array([tree.val])
        case ParenExpr():
            return _evaluate_tree(tree.expr, variables)
        case UnaryExpr():
            return -_evaluate_tree(tree.expr, variables)
        case Call() if tree.func.name in variables:
            return np.array([variables[tree.func.name]])
        case Call() if tree.func.name in _CHOICES:
            return _CHOICES[tree.func.name](*(_evaluate_tree(argument, variables) for argument in tree.args))
        case BinaryExpr() if str(tree.op) in ARITHMETIC:
            sides = _evaluate_tree(tree.lhs, variables), _evaluate_tree(tree.rhs, variables)
            return apply_operator(str(tree.op), *sides, as_bool=False)[0]
    raise ParseError(f"{tree} is not a duration")
