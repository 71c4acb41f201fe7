"""Durations that are computed, as in x[5m * 2] or offset (1h - 5m): the parser wants them worked out."""

from __future__ import annotations

import math
import re

import numpy as np
import promql_parser
from promql_parser import Expr

from vigie.query.errors import BadData
from vigie.query.operators import ARITHMETIC, computed
from vigie.query.vectors import Floats

LITERAL = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`'
_RANGE = re.compile(rf"{LITERAL}|\[[^\[\]\"'`]*\]", re.DOTALL)
_OFFSET = re.compile(rf"{LITERAL}|\boffset\s*\(", re.DOTALL | re.IGNORECASE)
_COMPUTED = re.compile(r"[-+*/%^()]")


def worked_out(query: str) -> str:
    """Return the query with every computed duration as a plain one."""
    return _offsets(_RANGE.sub(_range, query))


def _range(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] != "[" or not _COMPUTED.search(text):
        return text
    length, colon, step = text[1:-1].partition(":")
    return f"[{_plain(length)}{colon}{_plain(step)}]"


def _offsets(query: str) -> str:
    done, at = "", 0
    for found in _OFFSET.finditer(query):
        if found[0][0] in "\"'`" or found.start() < at:
            continue
        end = _closing(query, found.end())
        seconds = _seconds(query[found.end() : end])
        sign = "-" if seconds < 0 else ""
        done += f"{query[at : found.start()]}offset {sign}{_spelled(abs(seconds))}"
        at = end + 1
    return done + query[at:]


def _closing(query: str, start: int) -> int:
    depth = 1
    for place in range(start, len(query)):
        depth += {"(": 1, ")": -1}.get(query[place], 0)
        if not depth:
            return place
    raise _wrong("unclosed left parenthesis")


def _plain(text: str) -> str:
    if not _COMPUTED.search(text):
        return text
    seconds = _seconds(text)
    if not seconds > 0:
        raise _wrong("duration must be greater than 0")
    return _spelled(seconds)


def _spelled(seconds: float) -> str:
    if not seconds < 2**63 / 1e9:
        raise _wrong("duration out of range")
    return f"{round(seconds * 1000)}ms"


def _wrong(why: str) -> BadData:
    return BadData(f'invalid parameter "query": parse error: {why}')


def _seconds(text: str) -> float:
    """Return the value of an expression of durations and numbers, in seconds; the parser knows these."""
    try:
        tree = promql_parser.parse(text)
    except ValueError as error:
        raise _wrong(f"{text.strip()!r} is not a duration: {error}") from error
    seconds = float(_value(tree)[0])
    if not math.isfinite(seconds):
        raise _wrong(f"{text.strip()!r} is not a finite duration")
    return seconds


def _value(tree: Expr) -> Floats:
    match tree:
        case promql_parser.NumberLiteral():
            return np.array([tree.val])
        case promql_parser.ParenExpr():
            return _value(tree.expr)
        case promql_parser.UnaryExpr():
            return -_value(tree.expr)
        case promql_parser.BinaryExpr() if str(tree.op) in ARITHMETIC:
            return computed(str(tree.op), _value(tree.lhs), _value(tree.rhs), as_bool=False)[0]
    raise _wrong(f"{tree} is not a duration")
