"""promql-parser, with a function it lacks, and guards against inputs it cannot handle."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser
from promql_parser import (
    AggregateExpr,
    BinaryExpr,
    Call,
    Expr,
    Function,
    MatrixSelector,
    NumberLiteral,
    ParenExpr,
    StringLiteral,
    SubqueryExpr,
    UnaryExpr,
    ValueType,
)

from vigie.query.parser.structure import analyze_structure
from vigie.query.parser.tokens import tokens

MAX_DEPTH = 400  # the parser copies its state at every level, and trees are walked recursively

promql_parser.register_extra_functions(
    [Function("holt_winters", [ValueType.Matrix, ValueType.Scalar, ValueType.Scalar], ValueType.Vector)]
)


class ParseError(ValueError):
    """A text that is not a query, with the reason."""


class LimitExceededError(ParseError):
    """A query beyond the parser's limits of length or depth."""


def parse_tree(text: str) -> Expr:
    if len(text) > MAX_DEPTH and analyze_structure(tokens(text)).depth > MAX_DEPTH:
        raise LimitExceededError(f"nested more than {MAX_DEPTH} deep")
    return parse_tree_unguarded(text)


def parse_tree_unguarded(text: str) -> Expr:
    """Parse a text that is known not to be deep."""
    try:
        return promql_parser.parse(text)
    except ValueError as error:
        raise ParseError(str(error)) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic of Rust code; it has no public name
            raise
        raise ParseError(str(error)) from None


def node_kind(tree: Expr) -> str:
    """Return the type of an expression: scalar, vector, matrix or string."""
    match tree:
        case NumberLiteral():
            return "scalar"
        case StringLiteral():
            return "string"
        case MatrixSelector() | SubqueryExpr():
            return "matrix"
        case Call():
            return str(tree.func.return_type).rpartition(".")[2].lower()
        case ParenExpr() | UnaryExpr():
            return node_kind(tree.expr)
        case BinaryExpr():
            return "scalar" if node_kind(tree.lhs) == node_kind(tree.rhs) == "scalar" else "vector"
    return "vector"


def nodes(tree: Expr) -> Iterator[Expr]:
    """Yield an expression and all its parts; promql-parser's own walk is cubic in the depth."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += _child_nodes(node)


def _child_nodes(node: Expr) -> list[Expr]:
    match node:
        case BinaryExpr():
            return [node.lhs, node.rhs]
        case Call():
            return node.args
        case AggregateExpr():
            return [node.expr] if node.param is None else [node.expr, node.param]
        case ParenExpr() | UnaryExpr() | SubqueryExpr():
            return [node.expr]
        case MatrixSelector():
            return [node.vector_selector]
    return []
