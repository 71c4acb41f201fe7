"""From text to tree: promql-parser's grammar, with old names it lacks and errors in Prometheus's words."""

from __future__ import annotations

import re
from functools import lru_cache

import promql_parser
from promql_parser import Expr, Function, ValueType, VectorSelector

from vigie.query.durations import LITERAL, worked_out
from vigie.query.errors import BadData
from vigie.query.matching import value_test
from vigie.query.moments import with_near_moments
from vigie.query.selectors import matchers_of
from vigie.query.storage import Matcher

_OLD_NAMES = [
    Function("holt_winters", [ValueType.Matrix, ValueType.Scalar, ValueType.Scalar], ValueType.Vector),
]

# The parser's time grows with more than the square of the depth: a thousand levels would hold it for minutes.
MOST_OPERATORS = 200
_LITERAL = re.compile(LITERAL, re.DOTALL)
_OPERATOR = re.compile(r"[-+*/%^(]|[=!<>]=?|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)

promql_parser.register_extra_functions(_OLD_NAMES)


@lru_cache(maxsize=512)
def parse(text: str) -> Expr:
    """Return the tree of a query."""
    if len(_OPERATOR.findall(_LITERAL.sub("", text))) > MOST_OPERATORS:
        raise BadData(f'invalid parameter "query": parse error: more than {MOST_OPERATORS} operators')
    try:
        tree = promql_parser.parse(worked_out(with_near_moments(text)))
    except ValueError as error:
        raise BadData(f'invalid parameter "query": parse error: {error}') from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what Rust code panics with; it has no public name
            raise
        raise BadData(f'invalid parameter "query": parse error: {error}') from None
    promql_parser.walk(tree, _check)
    return tree


def parse_selector(text: str) -> list[Matcher]:
    """Return the matchers of a series selector, as in match[]=."""
    tree = parse(text)
    if not isinstance(tree, VectorSelector) or tree.offset is not None or tree.at is not None:
        raise BadData('invalid parameter "match[]": parse error: expected only a series selector')
    return matchers_of(tree)


def _check(node: Expr) -> None:
    if isinstance(node, VectorSelector):
        if node.matchers.or_matchers:
            raise BadData('invalid parameter "query": parse error: unexpected "or" in label matching')
        for matcher in matchers_of(node):
            value_test(matcher)
