"""The metric names of a layout and their label names, without label values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakValueDictionary

from vigie.store.series.matcher import CompiledMatcher

NAME = "__name__"


class Schema:
    """Interned; there are few, however much series churn."""

    def __init__(self, metrics: Mapping[str, frozenset[str]]) -> None:
        self.metrics = metrics  # label names by metric name, including __name__

    def match(self, conditions: Iterable[CompiledMatcher]) -> list[str]:
        """Return the metrics that may have matching series."""
        return [name for name in self.metrics if all(self._may_fit(name, each) for each in conditions)]

    def names_of_labels(self, metrics: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self.metrics[name] for name in metrics))

    def _may_fit(self, metric: str, condition: CompiledMatcher) -> bool:
        if condition.label == NAME:
            return condition.test(metric)
        return condition.label in self.metrics[metric] or condition.test("")


_known: WeakValueDictionary[frozenset[tuple[str, frozenset[str]]], Schema] = WeakValueDictionary()


def extend_schema(metrics: Mapping[str, frozenset[str]]) -> Schema:
    key = frozenset(metrics.items())
    schema = _known.get(key)
    if schema is None:
        schema = _known[key] = Schema(metrics)
    return schema


def to_lists(schema: Schema) -> list[tuple[str, list[str]]]:
    return sorted((name, sorted(labels)) for name, labels in schema.metrics.items())


def from_lists(plain: Iterable[tuple[str, Sequence[str]]]) -> Schema:
    return extend_schema({name: frozenset(labels) for name, labels in plain})


def only_names(conditions: Iterable[CompiledMatcher]) -> bool:
    """Report whether all conditions are on metric names, so that a schema is enough."""
    return all(condition.label == NAME for condition in conditions)
