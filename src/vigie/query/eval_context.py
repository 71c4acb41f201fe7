"""The context of an evaluation: storage, steps, limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import numpy as np
from promql_parser import AtModifier, AtModifierType

from vigie.query.arrays import Times
from vigie.query.limits import QueryBudget
from vigie.query.semantics import Semantics
from vigie.query.storage import Storage
from vigie.query.subexpression_cache import SubexpressionCache


@dataclass(frozen=True)
class EvalContext:
    """The steps of an expression, in milliseconds; `start` and `end` are those of the whole query."""

    storage: Storage
    times: Times
    start: int
    end: int
    budget: QueryBudget
    semantics: Semantics
    lookback: int
    default_step: int
    step: int = 0  # of the whole query; 0 for an instant query
    warnings: list[str] = field(default_factory=list)  # of the whole query
    shared: SubexpressionCache | None = None  # with other queries of the same batch

    def warn(self, text: str) -> None:
        """Add a warning to the result, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def at(self, times: Times) -> EvalContext:
        """Return the same context with other steps."""
        return replace(self, times=times)

    def references(self, at: AtModifier | None, offset: timedelta | None) -> Times:
        """Return, for each step, the time that a selector with these modifiers evaluates at."""
        times = self.times if at is None else np.full(len(self.times), self._resolve_at(at), dtype=np.int64)
        return times - to_milliseconds(offset) if offset else times

    def _resolve_at(self, at: AtModifier) -> int:
        if at.type == AtModifierType.Start:
            return self.start
        if at.type == AtModifierType.End:
            return self.end
        assert at.at is not None
        return round(at.at.timestamp() * 1000)


def to_milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
