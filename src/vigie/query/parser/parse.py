"""Parses a query with promql-parser, with error messages as in Prometheus."""

from __future__ import annotations

from functools import lru_cache

from promql_parser import Call, Expr, MatrixSelector, SubqueryExpr, VectorSelector

from vigie.query.errors import BadDataError
from vigie.query.matchers import matchers_of, value_test
from vigie.query.parser.at_modifier import clamp_at_modifiers
from vigie.query.parser.durations import depends_on_query, evaluate_duration
from vigie.query.parser.error_positions import SyntaxFault, describe_token, locate_fault
from vigie.query.parser.grammar import EndlessError, NotParsedError, nodes, parse_tree, parse_tree_unguarded
from vigie.query.parser.info_selector import refuse_other_than_labels, with_marked_selectors
from vigie.query.parser.long_expressions import chain_of, shorten
from vigie.query.parser.regex_limits import check_regexes
from vigie.query.storage import Matcher

MOST_TEXT = 500_000


def parse(text: str, step: float = 0.0, span: float = 0.0) -> Expr:
    """Parse a query that runs with this step and range, in seconds."""
    return _parsed(text, step, span) if depends_on_query(text) else _parsed(text, 0.0, 0.0)


def parse_selector(text: str) -> list[Matcher]:
    """Parse a series selector, as in match[]=."""
    tree = parse(text)
    if not isinstance(tree, VectorSelector) or tree.offset is not None or tree.at is not None:
        raise BadDataError('invalid parameter "match[]": parse error: expected only a series selector')
    return matchers_of(tree)


def format_query(text: str) -> str:
    """Format a query; one that had to be rewritten for the parser stays as it is."""
    tree = parse(text, 1.0, 1.0)
    return text if shorten(_rewritten(text, 1.0, 1.0)) != text else tree.prettify()


@lru_cache(maxsize=512)
def _parsed(text: str, step: float, span: float) -> Expr:
    try:
        return _tree(text, step, span)
    except EndlessError as error:
        found = SyntaxFault(str(error), None)
    except NotParsedError as error:
        found = locate_fault(text, str(error), lambda part: _reason(part, step, span))
    where = "" if found.place is None else f"{describe_token(text, found.place)}: "
    raise BadDataError(f'invalid parameter "query": {where}parse error: {found.reason}')


def _tree(text: str, step: float, span: float) -> Expr:
    if len(text) > MOST_TEXT:
        raise EndlessError(f"more than {MOST_TEXT:,} characters")
    check_regexes(text)
    tree = parse_tree(shorten(_rewritten(text, step, span)))
    _check(tree)
    return tree


def _rewritten(text: str, step: float, span: float) -> str:
    """Rewrite what the parser does not support."""
    return with_marked_selectors(evaluate_duration(clamp_at_modifiers(text), step, span))


def _reason(text: str, step: float, span: float) -> str | None:
    """Return the error of a short part of a query."""
    try:
        _check(parse_tree_unguarded(_rewritten(text, step, span)))
    except NotParsedError as error:
        return str(error)
    except BadDataError:
        pass  # an invalid pattern: the grammar is right
    return None


def _check(tree: Expr) -> None:
    for node in nodes(tree):
        if isinstance(node, MatrixSelector | SubqueryExpr) and not node.range:
            raise NotParsedError("duration must be greater than 0")
        if isinstance(node, Call):
            _check_call(node)
        if isinstance(node, VectorSelector):
            if node.matchers.or_matchers:
                raise NotParsedError('unexpected "or" in label matching')
            for matcher in matchers_of(node):
                value_test(matcher)


def _check_call(call: Call) -> None:
    row = chain_of(call)
    for operand in (row.first, *(each for _, each in row.rest)) if row else ():
        _check(operand)
    if call.func.name == "info" and len(call.args) > 1:
        refuse_other_than_labels(call.args[1])
