"""Parses a query with promql-parser, with error messages as in Prometheus."""

from __future__ import annotations

from functools import lru_cache

from promql_parser import Call, Expr, MatrixSelector, SubqueryExpr, VectorSelector

from vigie.query.errors import BadDataError
from vigie.query.matchers import compile_value_test, matchers_of
from vigie.query.parser.at_modifier import clamp_at_modifiers
from vigie.query.parser.durations import depends_on_query, evaluate_duration
from vigie.query.parser.error_positions import SyntaxFault, describe_token, locate_fault
from vigie.query.parser.grammar import LimitExceededError, ParseError, nodes, parse_tree, parse_tree_unguarded
from vigie.query.parser.info_selector import check_info_selector, mark_info_selectors
from vigie.query.parser.long_expressions import find_chain, shorten
from vigie.query.parser.regex_limits import check_regexes
from vigie.query.storage import Matcher

MAX_TEXT = 500_000


def parse(text: str, step: float = 0.0, span: float = 0.0) -> Expr:
    """Parse a query that runs with this step and range, in seconds."""
    return _parse_cached(text, step, span) if depends_on_query(text) else _parse_cached(text, 0.0, 0.0)


def parse_selector(text: str) -> list[Matcher]:
    """Parse a series selector, as in match[]=."""
    tree = parse(text)
    if not isinstance(tree, VectorSelector) or tree.offset is not None or tree.at is not None:
        raise BadDataError('invalid parameter "match[]": parse error: expected only a series selector')
    return matchers_of(tree)


def format_query(text: str) -> str:
    """Format a query; one that had to be rewritten for the parser stays as it is."""
    tree = parse(text, 1.0, 1.0)
    return text if shorten(_rewrite(text, 1.0, 1.0)) != text else tree.prettify()


@lru_cache(maxsize=512)
def _parse_cached(text: str, step: float, span: float) -> Expr:
    try:
        return _parse_tree(text, step, span)
    except LimitExceededError as error:
        found = SyntaxFault(str(error), None)
    except ParseError as error:
        found = locate_fault(text, str(error), lambda part: _find_reason(part, step, span))
    where = "" if found.position is None else f"{describe_token(text, found.position)}: "
    raise BadDataError(f'invalid parameter "query": {where}parse error: {found.reason}')


def _parse_tree(text: str, step: float, span: float) -> Expr:
    if len(text) > MAX_TEXT:
        raise LimitExceededError(f"more than {MAX_TEXT:,} characters")
    check_regexes(text)
    tree = parse_tree(shorten(_rewrite(text, step, span)))
    _check(tree)
    return tree


def _rewrite(text: str, step: float, span: float) -> str:
    """Rewrite what the parser does not support."""
    return mark_info_selectors(evaluate_duration(clamp_at_modifiers(text), step, span))


def _find_reason(text: str, step: float, span: float) -> str | None:
    """Return the error of a short part of a query."""
    try:
        _check(parse_tree_unguarded(_rewrite(text, step, span)))
    except ParseError as error:
        return str(error)
    except BadDataError:
        pass  # an invalid pattern: the grammar is right
    return None


def _check(tree: Expr) -> None:
    for node in nodes(tree):
        if isinstance(node, MatrixSelector | SubqueryExpr) and not node.range:
            raise ParseError("duration must be greater than 0")
        if isinstance(node, Call):
            _check_call(node)
        if isinstance(node, VectorSelector):
            if node.matchers.or_matchers:
                raise ParseError('unexpected "or" in label matching')
            for matcher in matchers_of(node):
                compile_value_test(matcher)


def _check_call(call: Call) -> None:
    operators = find_chain(call)
    for operand in (operators.first, *(each for _, each in operators.rest)) if operators else ():
        _check(operand)
    if call.func.name == "info" and len(call.args) > 1:
        check_info_selector(call.args[1])
