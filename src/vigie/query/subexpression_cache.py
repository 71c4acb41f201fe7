"""Evaluates expressions that several queries of a batch share once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from promql_parser import Expr

from vigie.query.arrays import Times
from vigie.query.parser.grammar import nodes
from vigie.query.vectors import Value, Vector

MAX_CELLS = 1 << 23  # cached cells
CacheKey = tuple[str, bytes]  # expression and steps


class SubexpressionCache:
    """Caches the values of repeated expressions.

    An operand that cannot change the result is not evaluated, so an error in it is not reported.
    """

    def __init__(self, expressions: Iterable[Expr]) -> None:
        counts = Counter(_expression_text(part) for whole in expressions for part in nodes(whole))
        self._repeated = {text for text, times in counts.items() if times > 1}
        self._values: dict[CacheKey, Value] = {}
        self._left = MAX_CELLS

    def value(self, expression: Expr, times: Times, evaluate: Callable[[], Value]) -> Value:
        """Return the value of an expression, from the cache or evaluated."""
        text = _expression_text(expression)
        if text not in self._repeated:
            return evaluate()
        key = text, times.tobytes()
        value = self._values.get(key)
        if value is None:
            value = evaluate()
            size = value.values.size if isinstance(value, Vector) else len(value)
            if size <= self._left:
                self._left -= size
                self._values[key] = value
        return value


def _expression_text(expression: Expr) -> str:
    """Return a text that only equal expressions share; str() drops the colon of x[5m:], and milliseconds."""
    return expression.prettify()
