"""The store for a caller from whom others are hidden: names are pseudonyms before anything is asked.

A query then cannot tell them apart in any way that pseudonyms do not: matchers, joins, functions of labels
and errors all see what the caller sees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

import numpy as np

from vigie.query.limits import QueryLimits
from vigie.query.matchers import EVERYTHING, compile_series_test
from vigie.query.storage import (
    Labels,
    Load,
    Matcher,
    QueryableStorage,
    RollupGroup,
    SeriesGroup,
    Storage,
    StorageView,
)
from vigie.server.http.responses import Body
from vigie.server.privacy.redactor import Pseudonyms, current_pseudonyms
from vigie.server.query_executor import QueryWork, Work

Test = Callable[[Labels], bool]


class RedactedStorage(StorageView):
    def __init__(self, storage: QueryableStorage, mask: Pseudonyms) -> None:
        super().__init__(storage)
        self._mask = mask

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read a group each."""
        asked, fits = self._split(matchers)
        for load in self._storage.scan(asked, start, end):
            yield partial(self._load, load, fits)

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of the series that have samples between the two times."""
        asked, fits = self._split(matchers)
        found = map(self._mask.labels, self._storage.series(asked, start, end))
        return [labels for labels in found if fits(labels)]

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        if not any(self._mask.hides(matcher.label) for matcher in matchers):
            return self._storage.label_names(matchers, start, end)
        return sorted({name for labels in self.series(matchers, start, end) for name in labels})

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        if not self._mask.hides(name) and not any(self._mask.hides(matcher.label) for matcher in matchers):
            return self._storage.label_values(name, matchers, start, end)
        return sorted({labels[name] for labels in self.series(matchers, start, end) if labels.get(name)})

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield the buckets of the series that the matchers fit."""
        asked, fits = self._split(matchers)
        for group in self._storage.rollups(asked, start, end, width, fields):
            labels = [self._mask.labels(labels) for labels in group.labels]
            rows = [row for row, seen in enumerate(labels) if fits(seen)]
            if rows:
                yield RollupGroup([labels[row] for row in rows], group.buckets.rows(np.array(rows)))

    def _split(self, matchers: Sequence[Matcher]) -> tuple[Sequence[Matcher], Test]:
        """Return what the store is asked, and what is left to be tested on what the caller sees."""
        hidden = [matcher for matcher in matchers if self._mask.hides(matcher.label)]
        asked = [matcher for matcher in matchers if matcher not in hidden]
        return asked or EVERYTHING, compile_series_test(hidden)

    def _load(self, load: Load, fits: Test) -> SeriesGroup | None:
        group = load()
        if group is None:
            return None
        labels = [self._mask.labels(labels) for labels in group.labels]
        rows = [row for row, seen in enumerate(labels) if fits(seen)]
        if not rows:
            return None
        values = group.values if len(rows) == len(labels) else group.values[rows]
        return group._replace(labels=[labels[row] for row in rows], values=values)


class RedactedExecutor:
    """Asks the store behind the mask of whoever asks."""

    def __init__(self, readers: QueryWork) -> None:
        self._readers = readers

    async def ask(self, work: Work, seconds: float | None = None) -> Body:
        mask = current_pseudonyms()
        return await self._readers.ask(partial(_masked, work, mask) if mask else work, seconds)


def _masked(work: Work, mask: Pseudonyms, storage: Storage, limits: QueryLimits) -> Body:
    assert isinstance(storage, QueryableStorage)
    return work(RedactedStorage(storage, mask), limits)
