"""What layouts have in common that differ only in values of labels: metric names, and their label names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakValueDictionary

from vigie.store.series.matcher import Condition

NAME = "__name__"


class Outline:
    """Answers without a single series: equal ones are one object, and there are few, whatever churns."""

    def __init__(self, metrics: Mapping[str, frozenset[str]]) -> None:
        self.metrics = metrics  # label names by metric name, which is among them

    def match(self, conditions: Iterable[Condition]) -> list[str]:
        """Return the metrics that have series which may be wanted."""
        return [name for name in self.metrics if all(self._may_fit(name, each) for each in conditions)]

    def names_of_labels(self, metrics: Iterable[str]) -> frozenset[str]:
        """Return the names of the labels that series of some metrics have."""
        return frozenset[str]().union(*(self.metrics[name] for name in metrics))

    def _may_fit(self, metric: str, condition: Condition) -> bool:
        if condition.label == NAME:
            return condition.test(metric)
        return condition.label in self.metrics[metric] or condition.test("")


_known: WeakValueDictionary[frozenset[tuple[str, frozenset[str]]], Outline] = WeakValueDictionary()


def outline_with(metrics: Mapping[str, frozenset[str]]) -> Outline:
    """Return the outline with these label names of metrics."""
    key = frozenset(metrics.items())
    outline = _known.get(key)
    if outline is None:
        outline = _known[key] = Outline(metrics)
    return outline


def said(outline: Outline) -> list[tuple[str, list[str]]]:
    """Return an outline as plain lists, sorted."""
    return sorted((name, sorted(labels)) for name, labels in outline.metrics.items())


def heard(plain: Iterable[tuple[str, Sequence[str]]]) -> Outline:
    """Return the outline again, given plain lists."""
    return outline_with({name: frozenset(labels) for name, labels in plain})


def only_names(conditions: Iterable[Condition]) -> bool:
    """Tell whether conditions are on metric names alone, so that an outline answers them."""
    return all(condition.label == NAME for condition in conditions)
