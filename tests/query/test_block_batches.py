"""A store that gives group by group must be answered as one that gives all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pytest

from vigie.model.nan import ABSENT, NAN, STALE
from vigie.query.engine import Engine, QueryResult
from vigie.query.functions.range_functions import RANGE_FUNCTIONS
from vigie.query.semantics import Semantics
from vigie.query.storage import Load, Matcher, SeriesGroup
from vigie.simulation.memory_storage import MemoryStorage

NODES, STEP = 24, 15_000
NOW = 100 * STEP
PARAMETERS = {
    "predict_linear": "predict_linear(m[5m], 60)",
    "quantile_over_time": "quantile_over_time(0.3, m[5m])",
    "double_exponential_smoothing": "double_exponential_smoothing(m[5m], 0.5, 0.5)",
    "holt_winters": "holt_winters(m[5m], 0.5, 0.5)",
}


class Scanned(MemoryStorage):
    """Gives its groups one by one."""

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        return (partial(_given, group) for group in self.select(matchers, start, end))


def _given(group: SeriesGroup) -> SeriesGroup:
    return group


def groups() -> list[SeriesGroup]:
    """Return counters of nodes with times of their own, with resets, holes, NaN and ends, near zero too."""
    chance = np.random.default_rng(7)
    made = []
    for node in range(NODES):
        height, last = int(chance.integers(1, 6)), int(chance.integers(90, 101))
        times = np.arange(last, dtype=np.int64) * STEP + int(chance.integers(STEP))
        values = chance.integers(0, 9, (height, last)).cumsum(axis=1).astype(np.float64)
        values[:, int(chance.integers(last)) :] *= chance.choice([1.0, 0.25])
        if node % 4 == 1:
            values[0, chance.integers(last - 30, last, 3)] = chance.choice([NAN, STALE, ABSENT, np.inf])
        kept = slice(0, 2) if node % 10 == 9 else slice(None)
        labels = [{"__name__": "m", "node": str(node), "n": str(n)} for n in range(height)]
        made.append(SeriesGroup(labels, times[kept], np.ascontiguousarray(values[:, kept])))
    return made


def points(answer: QueryResult) -> dict[frozenset[tuple[str, str]], float]:
    return {frozenset(labels.items()): float(values[0]) for labels, _, values in answer.series}


@pytest.mark.parametrize("semantics", [Semantics.PROMETHEUS_3, Semantics.PROMETHEUS_2])
@pytest.mark.parametrize("name", RANGE_FUNCTIONS)
def test_function_at_one_step_is_the_same_over_many_groups_as_over_each(
    name: str, semantics: Semantics
) -> None:
    query = PARAMETERS.get(name, f"{name}(m[5m])")
    for wrapped in (query, f"sum by(n)({query})", f"2 * abs({query})"):
        expected = points(Engine(MemoryStorage(groups()), semantics=semantics).instant(wrapped, NOW))
        found = points(Engine(Scanned(groups()), semantics=semantics).instant(wrapped, NOW))
        assert expected.keys() == found.keys()
        assert [found[key] for key in expected] == pytest.approx(list(expected.values()), nan_ok=True)
        assert expected
