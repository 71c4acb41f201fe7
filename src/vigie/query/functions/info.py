"""info(): adds the labels of info series to the series of the same instance and job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from promql_parser import VectorSelector

from vigie.query.arrays import Flags, Times
from vigie.query.errors import ExecutionError
from vigie.query.eval_context import EvalContext
from vigie.query.matchers import compile_series_test, compile_value_test, matchers_of
from vigie.query.parser.info_selector import INFO_MARK
from vigie.query.sample_blocks import split_groups
from vigie.query.selectors import newest_samples
from vigie.query.storage import Labels, Matcher
from vigie.query.vectors import NAME, Vector, stack_vectors

IDENTITY = ("instance", "job")
DEFAULT = Matcher(NAME, "=", "target_info")
ANY = Matcher(NAME, "=~", ".+_info")
NONE = -1

Identity = tuple[str, ...]


class _InfoSeries(NamedTuple):
    """Info series, and the time of its sample at each step."""

    series: Vector
    times: Times


def info(context: EvalContext, vector: Vector, selector: VectorSelector | None) -> Vector:
    """Add the data labels of matching info series."""
    matchers = [] if selector is None else [each for each in matchers_of(selector) if each != INFO_MARK]
    names = [each for each in matchers if each.label == NAME] or [DEFAULT]
    data = [each for each in matchers if each.label != NAME]
    if all(each.operator in ("!=", "!~") for each in names):
        names.append(ANY)
    if not len(context.times):
        return vector
    newest_of = _group_newest(_select_info(context, [*names, *data]))
    is_info = compile_series_test(names)
    needed = any(not compile_value_test(each)("") for each in data)
    wanted = {each.label for each in data}
    parts = []
    for row, labels in enumerate(vector.labels):
        series = Vector([labels], vector.values[row : row + 1], vector.present[row : row + 1])
        if is_info({NAME: labels.get(NAME, "")}):
            parts.append(series)
        else:
            parts += _add_labels(series, newest_of.get(_identity(labels), []), wanted, needed)
    return stack_vectors(parts, len(context.times)).without_empty_rows().merge_rows()


def _identity(labels: Labels) -> Identity:
    return tuple(labels.get(name, "") for name in IDENTITY)


def _select_info(context: EvalContext, matchers: Sequence[Matcher]) -> Iterator[_InfoSeries]:
    start, end = int(context.times.min()) - context.lookback, int(context.times.max())
    groups = context.storage.select(matchers, start, end)
    context.budget.spend(sum(group.values.size for group in groups))
    for block in split_groups(groups, keep_stale=True):
        yield _InfoSeries(*newest_samples(block, context.times, context))


class _NewestInfo:
    """Of info series with the same identity, at each step the one with the newest sample."""

    def __init__(self, steps: int) -> None:
        self.series: list[Labels] = []
        self.chosen = np.full(steps, NONE)
        self._times = np.zeros(steps, dtype=np.int64)

    def add(self, labels: Labels, present: Flags, times: Times) -> None:
        """Select it where it is newer."""
        if (present & (self.chosen != NONE) & (times == self._times)).any():
            raise ExecutionError(f"found duplicate series for info metric: {labels.get(NAME, '')}")
        newer = present & ((self.chosen == NONE) | (times > self._times))
        self.chosen[newer] = len(self.series)
        self._times[newer] = times[newer]
        self.series.append(labels)


def _group_newest(found: Iterator[_InfoSeries]) -> dict[Identity, list[_NewestInfo]]:
    """Return the newest info series of each target, one per metric."""
    known: dict[Identity, dict[str, _NewestInfo]] = {}
    for series, times in found:
        for labels, present in zip(series.labels, series.present, strict=True):
            metrics = known.setdefault(_identity(labels), {})
            metrics.setdefault(labels.get(NAME, ""), _NewestInfo(len(times))).add(labels, present, times)
    return {identity: list(metrics.values()) for identity, metrics in known.items()}


def _add_labels(
    series: Vector, sources: list[_NewestInfo], wanted: set[str], needed: bool
) -> Iterator[Vector]:
    """Yield a series with the labels of each combination of info series that applies at some steps."""
    if not sources:
        if not needed:
            yield series
        return
    chosen = np.stack([source.chosen for source in sources])
    combinations, which = np.unique(chosen, axis=1, return_inverse=True)
    for number, combination in enumerate(combinations.T.tolist()):
        present = series.present & (which.ravel() == number)
        if not present.any() or (needed and max(combination) == NONE):
            continue
        info_labels = [
            source.series[index] for source, index in zip(sources, combination, strict=True) if index >= 0
        ]
        yield Vector([_merge_labels(series.labels[0], info_labels, wanted)], series.values, present)


def _merge_labels(base: Labels, info_labels: list[Labels], wanted: set[str]) -> Labels:
    data: dict[str, str] = {}
    for labels in info_labels:
        for name, value in labels.items():
            if name == NAME or (wanted and name not in wanted):
                continue
            if data.setdefault(name, value) != value:
                raise ExecutionError(f"conflicting label: {name}")
    return {**data, **base}
