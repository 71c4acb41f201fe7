"""Which metrics and labels there are, and what a PromQL text asks for that there is not."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import promql_parser as tree

from vigie.agent import metrics as agent_metrics
from vigie.model import Metric
from vigie.sources.core.registry import load_builtin

TARGET = frozenset({"instance", "job"})
ANYTHING = "*"  # what text files say; a dashboard cannot rely on it
KEEPING = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
SETS = frozenset({"and", "unless"})
_AGGREGATION = re.compile(r"\s*(\w+)")
_LEGEND = re.compile(r"\{\{(\w+)\}\}")


@cache
def declared() -> tuple[Metric, ...]:
    """Return every row of every table: those of the sources, and those that the reference page adds."""
    script = Path(__file__).parents[2] / "scripts" / "docs.py"
    spec = importlib.util.spec_from_file_location("docs_script", script)
    assert spec is not None
    assert spec.loader is not None
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    rows = [metric for source in load_builtin() for metric in source.metrics] + list(agent_metrics.METRICS)
    rows += [metric for _, _, metrics in docs.OTHERS for metric in metrics]
    return tuple(metric for metric in rows if metric.name != ANYTHING)


@cache
def labels_of(name: str) -> frozenset[str] | None:
    """Return the labels that series of this name have in a store, or nothing if none declares it."""
    found = [metric for metric in declared() if metric.matches(name)]
    exact = [metric for metric in found if metric.name == name] or found
    if not exact:
        return None
    words = {word for metric in exact for word in metric.labels}
    return TARGET | {f"exported_{word}" if word in TARGET else word for word in words}


class Faults:
    """Walks the tree of a query, and notes what nobody declares."""

    def __init__(self, promql: str, legend: str = "") -> None:
        self.found: list[str] = []
        self.labels = self._labels(tree.parse(promql))
        self._need(_LEGEND.findall(legend), self.labels, "its legend")

    def _need(self, words: list[str], there: frozenset[str], where: str) -> None:
        self.found += [f"no label {word} for {where}" for word in words if word not in there]

    def _labels(self, node: tree.Expr) -> frozenset[str]:
        """Return the labels that the answer of a part has."""
        match node:
            case tree.VectorSelector():
                return self._selected(node)
            case tree.MatrixSelector():
                return self._selected(node.vector_selector)
            case tree.ParenExpr() | tree.UnaryExpr() | tree.SubqueryExpr():
                return self._labels(node.expr)
            case tree.AggregateExpr():
                return self._aggregated(node)
            case tree.Call():
                return self._called(node)
            case tree.BinaryExpr():
                return self._joined(node)
        return frozenset()

    def _selected(self, selector: tree.VectorSelector) -> frozenset[str]:
        name = selector.name
        there = labels_of(name) if name else None
        if there is None:
            self.found.append(f"nobody declares {name}")
            return frozenset()
        self._need([matcher.name for matcher in selector.matchers.matchers], there, f"a matcher of {name}")
        return there

    def _aggregated(self, node: tree.AggregateExpr) -> frozenset[str]:
        inner = self._labels(node.expr)
        how = str(node.op)
        modifier = node.modifier
        words = frozenset(modifier.labels) if modifier else frozenset()
        self._need(sorted(words), inner, f"{how} by or without")
        if how in KEEPING:
            return inner
        if modifier and modifier.type == tree.AggModifierType.Without:
            return inner - words
        return words

    def _called(self, node: tree.Call) -> frozenset[str]:
        parts = [self._labels(part) for part in node.args]
        name = node.func.name
        if name in ("scalar", "vector", "time"):
            return frozenset()
        if name in ("label_replace", "label_join"):
            return parts[0] | {node.args[1].val}
        return frozenset().union(*parts)

    def _joined(self, node: tree.BinaryExpr) -> frozenset[str]:
        left, right = self._labels(node.lhs), self._labels(node.rhs)
        modifier = node.modifier
        matching = modifier.matching if modifier else None
        words = frozenset(matching.labels) if matching else frozenset()
        for side in (left, right):
            self._need(sorted(words), side, "on or ignoring")
        if str(node.op) in SETS:
            return left
        if str(node.op) == "or":
            return left | right
        grouped = frozenset(modifier.group_labels or ()) if modifier else frozenset()
        if modifier and modifier.card == tree.VectorMatchCardinality.ManyToOne:
            return left | grouped
        if modifier and modifier.card == tree.VectorMatchCardinality.OneToMany:
            return right | grouped
        if matching and matching.type == tree.LabelModifierType.Include:
            return words
        return (left - words) or right


def faults(promql: str, legend: str = "") -> list[str]:
    """Return what a query asks for and nobody declares, in words."""
    return Faults(promql, legend).found


def selectors(promql: str) -> Iterator[str]:
    """Yield the names of the metrics that a query reads."""
    found: list[str] = []

    def note(node: tree.Expr) -> bool:
        if isinstance(node, tree.VectorSelector) and node.name:
            found.append(node.name)
        return True

    tree.walk(tree.parse(promql), note)
    yield from found
