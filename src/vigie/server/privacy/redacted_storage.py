"""The store for a caller from whom others are hidden: names are pseudonyms before anything is asked.

A query then cannot tell them apart in any way that pseudonyms do not: matchers, joins, functions of labels
and errors all see what the caller sees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from vigie.query.limits import QueryLimits
from vigie.query.matchers import series_test
from vigie.query.rollups.evaluator import RollupGroup, RollupStorage
from vigie.query.storage import Labels, Load, Matcher, ScannableStorage, SeriesGroup, Storage, StorageView
from vigie.server.api.prometheus.queries import EVERYTHING
from vigie.server.http.requests import QueryWork
from vigie.server.http.responses import Body
from vigie.server.privacy.redactor import Pseudonyms, current_pseudonyms
from vigie.server.query_executor import Work

Test = Callable[[Labels], bool]


@runtime_checkable
class RedactableStore(Storage, ScannableStorage, RollupStorage, Protocol):
    """A store that gives its groups one by one, and has rollups."""


class RedactedStorage:
    """A storage behind a mask."""

    def __init__(self, storage: Storage, mask: Pseudonyms) -> None:
        self._storage, self._mask = storage, mask

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        """Return the samples of the series that the matchers fit."""
        asked, fits = self._split(matchers)
        groups = (self._seen(group, fits) for group in self._storage.select(asked, start, end))
        return [group for group in groups if group is not None]

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of the series that have samples between the two times."""
        asked, fits = self._split(matchers)
        found = map(self._mask.labels, self._storage.series(asked, start, end))
        return [labels for labels in found if fits(labels)]

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted names of their labels."""
        if not any(self._mask.hides(matcher.label) for matcher in matchers):
            return self._storage.label_names(matchers, start, end)
        return sorted({name for labels in self.series(matchers, start, end) for name in labels})

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of one of their labels."""
        if not self._mask.hides(name) and not any(self._mask.hides(matcher.label) for matcher in matchers):
            return self._storage.label_values(name, matchers, start, end)
        return sorted({labels[name] for labels in self.series(matchers, start, end) if labels.get(name)})

    def _split(self, matchers: Sequence[Matcher]) -> tuple[Sequence[Matcher], Test]:
        """Return what the store is asked, and what is left to be tested on what the caller sees."""
        hidden = [matcher for matcher in matchers if self._mask.hides(matcher.label)]
        asked = [matcher for matcher in matchers if matcher not in hidden]
        return asked or EVERYTHING, series_test(hidden)

    def _seen(self, group: SeriesGroup | None, fits: Test) -> SeriesGroup | None:
        if group is None:
            return None
        labels = [self._mask.labels(labels) for labels in group.labels]
        rows = [row for row, seen in enumerate(labels) if fits(seen)]
        if not rows:
            return None
        values = group.values if len(rows) == len(labels) else group.values[rows]
        return group._replace(labels=[labels[row] for row in rows], values=values)


class RedactedStore(RedactedStorage, StorageView):
    """The embedded store behind a mask: group by group, and with its rollups."""

    def __init__(self, store: RedactableStore, mask: Pseudonyms) -> None:
        RedactedStorage.__init__(self, store, mask)
        StorageView.__init__(self, store)
        self._store = store

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read a group each."""
        asked, fits = self._split(matchers)
        for load in self._store.scan(asked, start, end):
            yield partial(self._loaded, load, fits)

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield the buckets of the series that the matchers fit."""
        asked, fits = self._split(matchers)
        for group in self._store.rollups(asked, start, end, width, fields):
            labels = [self._mask.labels(labels) for labels in group.labels]
            rows = [row for row, seen in enumerate(labels) if fits(seen)]
            if rows:
                yield RollupGroup([labels[row] for row in rows], group.buckets.rows(np.array(rows)))

    def _loaded(self, load: Load, fits: Test) -> SeriesGroup | None:
        return self._seen(load(), fits)


class RedactedExecutor:
    """Asks the store behind the mask of whoever asks."""

    def __init__(self, readers: QueryWork) -> None:
        self._readers = readers

    async def ask(self, work: Work, seconds: float | None = None) -> Body:
        """Return what the work makes of the store."""
        mask = current_pseudonyms()
        return await self._readers.ask(partial(_masked, work, mask) if mask else work, seconds)


def _masked(work: Work, mask: Pseudonyms, storage: Storage, limits: QueryLimits) -> Body:
    if isinstance(storage, RedactableStore):
        return work(RedactedStore(storage, mask), limits)
    return work(RedactedStorage(storage, mask), limits)
