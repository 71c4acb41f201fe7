"""The store as questions see it: the series of a node that is not there end, and its `up` is 0.

Nothing of that is stored: it is made from the gaps when samples are read, and is gone with the gap. So a
question across a cut that a replay has covered reads exactly what it would without the cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

from vigie.query.buckets import Buckets
from vigie.query.label_table import metric_names, take_rows
from vigie.query.matchers import compile_series_test
from vigie.query.storage import ForkableStorage, Labels, Load, Matcher, RollupGroup, SeriesGroup, StorageView
from vigie.server.staleness.activity import ActivityLog
from vigie.server.staleness.gaps import Gap
from vigie.server.staleness.synthetic_samples import (
    rolled_with_zeros,
    target_of,
    with_ends,
    with_zeros,
    zero_times,
)

UP = "up"
Target = tuple[str, str]  # instance and job
Gaps = Mapping[Target, Sequence[Gap]]
Rows = np.typing.NDArray[np.intp]
NO_ROWS: Rows = np.array([], dtype=np.intp)


class StalenessView(StorageView):
    """Answers as the store does, with what the absences add."""

    def __init__(self, store: ForkableStorage, absences: ActivityLog) -> None:
        super().__init__(store)
        self._store, self._absences = store, absences

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield what reads the same groups one by one, in any thread."""
        gaps = self._absences.between(start, end)
        if not gaps:
            return self._store.scan(matchers, start, end)
        return self._scan(matchers, start, end, gaps)

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of series that have samples in the time span."""
        return self._also(self._store.series(matchers, start, end), matchers, start, end)

    def series_up_to(
        self, matchers: Sequence[Matcher], start: int, end: int, limit: int
    ) -> list[Labels] | None:
        found = self._store.series_up_to(matchers, start, end, limit)
        return None if found is None else self._also(found, matchers, start, end)

    def first_series(self, matchers: Sequence[Matcher], start: int, end: int, limit: int) -> list[Labels]:
        return self._also(self._store.first_series(matchers, start, end, limit), matchers, start, end)[:limit]

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        more = {name for labels in self._zeros(matchers, start, end) for name in labels}
        return sorted(more.union(self._store.label_names(matchers, start, end)))

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        more = {labels[name] for labels in self._zeros(matchers, start, end) if name in labels}
        return sorted(more.union(self._store.label_values(name, matchers, start, end)))

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield buckets, those of `up` with its zeros."""
        absent = _fitting(matchers, self._absences.between(start, end))
        stored: dict[Target, Buckets] = {}
        for group in self._store.rollups(matchers, start, end, width, fields):
            kept, ups = _divided(group.labels, absent)
            stored.update((target, group.buckets.rows(row)) for target, row in ups.items())
            if not ups:
                yield group
            elif len(kept):
                yield RollupGroup(take_rows(group.labels, kept), group.buckets.rows(kept))
        ends = np.arange(start + width, end + 1, width, dtype=np.int64)
        for target, gaps in absent.items():
            yield RollupGroup([_labels(target)], rolled_with_zeros(stored.get(target), gaps, ends, width))

    def estimate_samples(self, matchers: Sequence[Matcher], start: int, end: int, enough: int) -> int:
        """Return about how many values a selection would read, or more than enough."""
        return self._store.estimate_samples(matchers, start, end, enough)

    def label_cardinality(self) -> Counter[tuple[str, str]]:
        return self._store.label_cardinality()

    def query_running(self) -> AbstractContextManager[None]:
        """Let upkeep give way for as long as a question is answered."""
        return self._store.query_running()

    def fork_lock(self) -> AbstractContextManager[None]:
        """Hold every lock of the store, so that a fork sees nothing half done."""
        return self._store.fork_lock()

    def after_fork(self) -> None:
        """Make the store readable in a child that was forked just now."""
        self._store.after_fork()

    def _scan(self, matchers: Sequence[Matcher], start: int, end: int, gaps: Gaps) -> Iterator[Load]:
        ups = _fitting(matchers, gaps)
        for load in self._store.scan(matchers, start, end):
            yield partial(_ended, load, gaps, ups, end)
        stored = self._ups([*matchers, Matcher("__name__", "=", UP)], start, end, ups) if ups else {}
        for target, absent in ups.items():
            yield partial(with_zeros, stored.get(target), _labels(target), absent, start, end)

    def _ups(self, matchers: Sequence[Matcher], start: int, end: int, ups: Gaps) -> dict[Target, SeriesGroup]:
        """Return what the store has of the up of absent nodes; all at once, as many may be absent."""
        return {
            target: SeriesGroup([_labels(target)], group.times, group.values[row])
            for group in self._store.select(matchers, start, end)
            for target, row in _divided(group.labels, ups)[1].items()
        }

    def _also(self, found: list[Labels], matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        more = list(self._zeros(matchers, start, end))
        if not more:
            return found
        known = {frozenset(labels.items()) for labels in found if labels.get("__name__") == UP}
        return found + [labels for labels in more if frozenset(labels.items()) not in known]

    def _zeros(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Labels]:
        for target, gaps in _fitting(matchers, self._absences.between(start, end)).items():
            if any(len(zero_times(gap, start, end)) for gap in gaps):
                yield _labels(target)


def _labels(target: Target) -> Labels:
    instance, job = target
    return {"__name__": UP, "instance": instance, "job": job}


def _fitting(matchers: Sequence[Matcher], gaps: Gaps) -> Gaps:
    """Return the gaps of those whose up is asked for."""
    if any(each.label == "__name__" and each.operator == "=" and each.value != UP for each in matchers):
        return {}  # as most questions are
    fits = compile_series_test(matchers)
    return {target: found for target, found in gaps.items() if fits(_labels(target))}


def _ended(load: Load, gaps: Gaps, ups: Gaps, end: int) -> SeriesGroup | None:
    group = load()
    target = target_of(group) if group is not None else None
    if group is None or target is None or target not in gaps:
        return group
    kept, found = _divided(group.labels, ups)
    if found:
        group = SeriesGroup(take_rows(group.labels, kept), group.times, group.values[kept])
    return with_ends(group, gaps[target], end) if len(group.labels) else None


def _divided(labels: Sequence[Labels], ups: Gaps) -> tuple[Rows, dict[Target, Rows]]:
    """Return by target the rows that are the up of an absent node, and if there are any, all other rows."""
    if not ups or UP not in metric_names(labels):
        return NO_ROWS, {}
    found = {}
    for row, each in enumerate(labels):
        target = (each.get("instance", ""), each.get("job", ""))
        if target in ups and dict(each) == _labels(target):  # others may have more labels than these
            found[target] = np.array([row], dtype=np.intp)
    kept = sorted(set(range(len(labels))).difference(int(row[0]) for row in found.values()))
    return np.array(kept, dtype=np.intp), found
