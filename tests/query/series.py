"""A small notation for tests: series and expected answers on one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import promql_parser

from vigie.query.engine import Engine, QueryResult
from vigie.query.matchers import matchers_of
from vigie.query.semantics import DEFAULT, Semantics
from vigie.simulation.memory_storage import MemoryStorage

MINUTE = 60_000


def labels_of(text: str) -> dict[str, str]:
    """Return the labels that a selector with only = spells."""
    if text == "{}":
        return {}
    tree = promql_parser.parse(text)
    assert isinstance(tree, promql_parser.VectorSelector)
    return {matcher.label: matcher.value for matcher in matchers_of(tree)}


def storage(series: Mapping[str, Sequence[float | None]], step: int = MINUTE) -> MemoryStorage:
    """Return a store whose series have a sample each minute from 0 on, or none where it says None."""
    memory = MemoryStorage()
    for text, values in series.items():
        points = [(place * step, value) for place, value in enumerate(values) if value is not None]
        memory.add(labels_of(text), [time for time, _ in points], [value for _, value in points])
    return memory


def engine(
    series: Mapping[str, Sequence[float | None]], step: int = MINUTE, semantics: Semantics = DEFAULT
) -> Engine:
    """Return an engine over such a store."""
    return Engine(storage(series, step), semantics=semantics)


def vector(answer: QueryResult) -> dict[str, float]:
    """Return an instant answer as labels and value."""
    return {spelled(labels): float(values[0]) for labels, _, values in answer.series}


def matrix(answer: QueryResult) -> dict[str, list[tuple[int, float]]]:
    """Return an answer over a range as labels and points."""
    return {
        spelled(labels): list(zip(times.tolist(), values.tolist(), strict=True))
        for labels, times, values in answer.series
    }


def spelled(labels: Mapping[str, str]) -> str:
    """Return the labels in one order, the name first."""
    inside = ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()) if name != "__name__")
    return f"{labels.get('__name__', '')}{{{inside}}}"
