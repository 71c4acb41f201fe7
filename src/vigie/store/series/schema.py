"""What layouts have in common that differ only in values of labels: metric names, and their label names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakValueDictionary

from vigie.store.series.matcher import CompiledMatcher

NAME = "__name__"


class Schema:
    """Answers without a single series: equal ones are one object, and there are few, whatever churns."""

    def __init__(self, metrics: Mapping[str, frozenset[str]]) -> None:
        self.metrics = metrics  # label names by metric name, which is among them

    def match(self, conditions: Iterable[CompiledMatcher]) -> list[str]:
        """Return the metrics that have series which may be wanted."""
        return [name for name in self.metrics if all(self._may_fit(name, each) for each in conditions)]

    def names_of_labels(self, metrics: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self.metrics[name] for name in metrics))

    def _may_fit(self, metric: str, condition: CompiledMatcher) -> bool:
        if condition.label == NAME:
            return condition.test(metric)
        return condition.label in self.metrics[metric] or condition.test("")


_known: WeakValueDictionary[frozenset[tuple[str, frozenset[str]]], Schema] = WeakValueDictionary()


def extend_schema(metrics: Mapping[str, frozenset[str]]) -> Schema:
    """Return the outline with these label names of metrics."""
    key = frozenset(metrics.items())
    outline = _known.get(key)
    if outline is None:
        outline = _known[key] = Schema(metrics)
    return outline


def to_lists(outline: Schema) -> list[tuple[str, list[str]]]:
    """Return an outline as plain lists, sorted."""
    return sorted((name, sorted(labels)) for name, labels in outline.metrics.items())


def from_lists(plain: Iterable[tuple[str, Sequence[str]]]) -> Schema:
    """Return the outline again, given plain lists."""
    return extend_schema({name: frozenset(labels) for name, labels in plain})


def only_names(conditions: Iterable[CompiledMatcher]) -> bool:
    """Tell whether conditions are on metric names alone, so that an outline answers them."""
    return all(condition.label == NAME for condition in conditions)
