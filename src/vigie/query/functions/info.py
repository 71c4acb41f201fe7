"""info(): adds the labels of info series to the series of the same instance and job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from promql_parser import VectorSelector

from vigie.query.arrays import Flags, Times
from vigie.query.errors import ExecutionError
from vigie.query.eval_context import EvalContext
from vigie.query.matchers import matchers_of, series_test, value_test
from vigie.query.parser.info_selector import MARK
from vigie.query.sample_blocks import blocks_of
from vigie.query.selectors import newest_samples
from vigie.query.storage import Labels, Matcher
from vigie.query.vectors import NAME, Vector, stack_vectors

IDENTITY = ("instance", "job")
DEFAULT = Matcher(NAME, "=", "target_info")
ANY = Matcher(NAME, "=~", ".+_info")
NOBODY = -1

Identity = tuple[str, ...]


class _Found(NamedTuple):
    """Info series, and the time of its sample at each step."""

    series: Vector
    times: Times


def info(scope: EvalContext, vector: Vector, selector: VectorSelector | None) -> Vector:
    """Add the data labels of matching info series."""
    given = [] if selector is None else [each for each in matchers_of(selector) if each != MARK]
    names = [each for each in given if each.label == NAME] or [DEFAULT]
    data = [each for each in given if each.label != NAME]
    if all(each.operator in ("!=", "!~") for each in names):
        names.append(ANY)
    if not len(scope.times):
        return vector
    newest_of = _newest(_found(scope, [*names, *data]))
    is_info = series_test(names)
    needed = any(not value_test(each)("") for each in data)
    wanted = {each.label for each in data}
    parts = []
    for row, labels in enumerate(vector.labels):
        alone = Vector([labels], vector.values[row : row + 1], vector.present[row : row + 1])
        if is_info({NAME: labels.get(NAME, "")}):
            parts.append(alone)
        else:
            parts += _enriched(alone, newest_of.get(_identity(labels), []), wanted, needed)
    return stack_vectors(parts, len(scope.times)).without_empty_rows().merged()


def _identity(labels: Labels) -> Identity:
    return tuple(labels.get(name, "") for name in IDENTITY)


def _found(scope: EvalContext, matchers: Sequence[Matcher]) -> Iterator[_Found]:
    start, end = int(scope.times.min()) - scope.lookback, int(scope.times.max())
    groups = scope.storage.select(matchers, start, end)
    scope.budget.spend(sum(group.values.size for group in groups))
    for block in blocks_of(groups, keep_stale=True):
        yield _Found(*newest_samples(block, scope.times, scope))


class _Newest:
    """Of info series with the same identity, at each step the one with the newest sample."""

    def __init__(self, steps: int) -> None:
        self.series: list[Labels] = []
        self.chosen = np.full(steps, NOBODY)
        self._times = np.zeros(steps, dtype=np.int64)

    def add(self, labels: Labels, present: Flags, times: Times) -> None:
        """Select it where it is newer."""
        if (present & (self.chosen != NOBODY) & (times == self._times)).any():
            raise ExecutionError(f"found duplicate series for info metric: {labels.get(NAME, '')}")
        newer = present & ((self.chosen == NOBODY) | (times > self._times))
        self.chosen[newer] = len(self.series)
        self._times[newer] = times[newer]
        self.series.append(labels)


def _newest(found: Iterator[_Found]) -> dict[Identity, list[_Newest]]:
    """Return the newest info series of each target, one per metric."""
    known: dict[Identity, dict[str, _Newest]] = {}
    for series, times in found:
        for labels, present in zip(series.labels, series.present, strict=True):
            metrics = known.setdefault(_identity(labels), {})
            metrics.setdefault(labels.get(NAME, ""), _Newest(len(times))).add(labels, present, times)
    return {identity: list(metrics.values()) for identity, metrics in known.items()}


def _enriched(alone: Vector, sources: list[_Newest], wanted: set[str], needed: bool) -> Iterator[Vector]:
    """Yield a series with the labels of each combination of info series that applies at some steps."""
    if not sources:
        if not needed:
            yield alone
        return
    chosen = np.stack([source.chosen for source in sources])
    combinations, which = np.unique(chosen, axis=1, return_inverse=True)
    for number, combination in enumerate(combinations.T.tolist()):
        present = alone.present & (which.ravel() == number)
        if not present.any() or (needed and max(combination) == NOBODY):
            continue
        met = [source.series[place] for source, place in zip(sources, combination, strict=True) if place >= 0]
        yield Vector([_labels(alone.labels[0], met, wanted)], alone.values, present)


def _labels(base: Labels, met: list[Labels], wanted: set[str]) -> Labels:
    data: dict[str, str] = {}
    for labels in met:
        for name, value in labels.items():
            if name == NAME or (wanted and name not in wanted):
                continue
            if data.setdefault(name, value) != value:
                raise ExecutionError(f"conflicting label: {name}")
    return {**data, **base}
