"""What the query engine needs of a store: series selected by matchers, in groups that share their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vigie.query.buckets import Buckets

Labels = Mapping[str, str]  # with the metric's name under "__name__"


class Matcher(NamedTuple):
    """One condition of a selector: =, !=, =~ or !~; an absent label has the empty value."""

    label: str
    operator: str
    value: str


class SeriesGroup(NamedTuple):
    """Series that share their sample times: one row of values for each, one column for each time.

    Times are strictly increasing, in milliseconds. A cell without a sample holds the absent NaN
    (vigie.model.nan.ABSENT_BITS); stale markers and real NaN are kept bit for bit.
    """

    labels: Sequence[Labels]
    times: NDArray[np.int64]
    values: NDArray[np.float64]


class Storage(Protocol):
    """A store that can be asked; times are milliseconds, both ends included."""

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        """Return the samples of the series that the matchers fit.

        A series may span several groups; these come in time order and do not overlap.
        """

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of the series that have samples between the two times."""

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted names of their labels."""

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of one of their labels."""


@runtime_checkable
class ListableStorage(Protocol):
    """A store that can stop looking for series when there are enough."""

    def first_series(self, matchers: Sequence[Matcher], start: int, end: int, limit: int) -> list[Labels]:
        """Return the label sets of at most so many series that have samples between the two times."""


Load = Callable[[], SeriesGroup | None]


@runtime_checkable
class ScannableStorage(Protocol):
    """A store that can also give its groups one by one, for questions that need not hold all at once."""

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read a group each, in any thread; no series is in two of these groups."""


class RollupGroup(NamedTuple):
    """Series and their buckets."""

    labels: Sequence[Labels]
    buckets: Buckets


@runtime_checkable
class RollupStorage(Protocol):
    """A store that also keeps rollups; times are milliseconds."""

    def raw_since(self) -> int:
        """Return from when on every raw sample is still there."""

    def rollup_widths(self) -> Sequence[int]:
        """Return how wide the buckets are that it keeps, finest first."""

    def rollups_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield the buckets between two multiples of the width, with at least these fields and all times."""


@runtime_checkable
class QueryableStorage(Storage, ScannableStorage, RollupStorage, Protocol):
    """All that the query engine can make use of."""


class ForkableStorage(QueryableStorage, ListableStorage, Protocol):
    """A store that other threads write to, and that a forked child can go on reading."""

    def query_running(self) -> AbstractContextManager[None]:
        """Let upkeep give way for as long as a question is answered."""

    def fork_lock(self) -> AbstractContextManager[None]:
        """Hold every lock of the store, so that a fork sees nothing half done."""

    def after_fork(self) -> None:
        """Make the store readable in a child that was forked just now."""

    def estimate_samples(self, matchers: Sequence[Matcher], start: int, end: int, enough: int) -> int:
        """Return about how many values a selection would read, or more than enough."""

    def series_up_to(
        self, matchers: Sequence[Matcher], start: int, end: int, limit: int
    ) -> list[Labels] | None:
        """Return the label sets of the series; None if there are more."""

    def label_cardinality(self) -> Counter[tuple[str, str]]:
        """Return how many live series have each label and value."""


class StorageView:
    """Reads from the storage behind it; a view overrides what it changes.

    Only what the engine reads is forwarded. Whatever else a store offers names series too, and a view
    that hides some must not show them by a method that it does not know.
    """

    def __init__(self, storage: QueryableStorage) -> None:
        self._storage = storage

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        """Return the samples of the series that the matchers fit."""
        return [group for load in self.scan(matchers, start, end) if (group := load()) is not None]

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read a group each, in any thread."""
        return self._storage.scan(matchers, start, end)

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of the series that have samples between the two times."""
        return self._storage.series(matchers, start, end)

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted names of their labels."""
        return self._storage.label_names(matchers, start, end)

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of one of their labels."""
        return self._storage.label_values(name, matchers, start, end)

    def raw_since(self) -> int:
        """Return from when on every raw sample is still there."""
        return self._storage.raw_since()

    def rollup_widths(self) -> Sequence[int]:
        """Return how wide the buckets are that it keeps, finest first."""
        return self._storage.rollup_widths()

    def rollups_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""
        return self._storage.rollups_since(width)

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield the buckets between two multiples of the width."""
        return self._storage.rollups(matchers, start, end, width, fields)
