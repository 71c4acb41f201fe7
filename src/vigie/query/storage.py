"""The storage interfaces of the query engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vigie.query.buckets import Buckets

Labels = Mapping[str, str]  # including the metric name as "__name__"


class Matcher(NamedTuple):
    """A label matcher; an absent label has the empty value."""

    label: str
    operator: str
    value: str


class SeriesGroup(NamedTuple):
    """Series with the same sample times: one row per series, one column per time.

    Times are strictly increasing, in milliseconds. A cell without a sample holds the absent NaN
    (vigie.model.nan.ABSENT_BITS); stale markers and real NaN are kept bit for bit.
    """

    labels: Sequence[Labels]
    times: NDArray[np.int64]
    values: NDArray[np.float64]


class Storage(Protocol):
    """Selects series; times are milliseconds, both ends included."""

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        """Return the samples of matching series.

        A series may span several groups, which are in time order and do not overlap.
        """

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of series with samples between the two times."""

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return their sorted label names."""

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of one of their labels."""


@runtime_checkable
class ListableStorage(Protocol):
    """Lists series up to a limit."""

    def first_series(self, matchers: Sequence[Matcher], start: int, end: int, limit: int) -> list[Labels]:
        """Return the label sets of at most `limit` series with samples between the two times."""


Load = Callable[[], SeriesGroup | None]


@runtime_checkable
class ScannableStorage(Protocol):
    """Yields groups one by one, for queries that need not hold all at once."""

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read a group each, in any thread; no series is in two of these groups."""


class RollupGroup(NamedTuple):
    labels: Sequence[Labels]
    buckets: Buckets


@runtime_checkable
class RollupStorage(Protocol):
    """Has rollups; times are milliseconds."""

    def raw_since(self) -> int:
        """Return the time from which on all raw samples exist."""

    def rollup_widths(self) -> Sequence[int]:
        """Return the bucket widths, finest first."""

    def rollups_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield the buckets between two multiples of the width, with at least these fields and all times."""


@runtime_checkable
class QueryableStorage(Storage, ScannableStorage, RollupStorage, Protocol):
    """All interfaces that the query engine uses."""


class ForkableStorage(QueryableStorage, ListableStorage, Protocol):
    """A store with concurrent writers, which a forked child can read."""

    def query_running(self) -> AbstractContextManager[None]:
        """Let maintenance yield while a query runs."""

    def fork_lock(self) -> AbstractContextManager[None]:
        """Hold every lock of the store, so that a process can be forked inside."""

    def after_fork(self) -> None:
        """Make the store readable in a child that was just forked."""

    def estimate_samples(self, matchers: Sequence[Matcher], start: int, end: int, enough: int) -> int:
        """Return the approximate number of samples a selection would read, or any number above `enough`."""

    def series_up_to(
        self, matchers: Sequence[Matcher], start: int, end: int, limit: int
    ) -> list[Labels] | None:
        """Return the label sets of the series; None if there are more than `limit`."""

    def label_cardinality(self) -> Counter[tuple[str, str]]:
        """Return the number of live series per label pair."""


class StorageView:
    """Forwards reads to another storage; subclasses override what they change.

    Only what the engine reads is forwarded: a view that hides series must not expose them through other
    methods of the store.
    """

    def __init__(self, storage: QueryableStorage) -> None:
        self._storage = storage

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        return [group for load in self.scan(matchers, start, end) if (group := load()) is not None]

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        return self._storage.scan(matchers, start, end)

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        return self._storage.series(matchers, start, end)

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        return self._storage.label_names(matchers, start, end)

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        return self._storage.label_values(name, matchers, start, end)

    def raw_since(self) -> int:
        return self._storage.raw_since()

    def rollup_widths(self) -> Sequence[int]:
        return self._storage.rollup_widths()

    def rollups_since(self, width: int) -> int:
        return self._storage.rollups_since(width)

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        return self._storage.rollups(matchers, start, end, width, fields)
