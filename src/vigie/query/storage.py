"""What the query engine needs of a store: series selected by matchers, in groups that share their times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Labels = Mapping[str, str]  # with the metric's name under "__name__"


class BoundedStorage(Protocol):
    """A store that keeps rollups beside raw samples."""

    def raw_since(self) -> int:
        """Return from when on every raw sample is still there."""

    def rollup_widths(self) -> Sequence[int]:
        """Return how wide the buckets are that it keeps."""

    def rolled_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""


class StorageView:
    """Goes back as far as the store behind it."""

    def __init__(self, behind: BoundedStorage) -> None:
        self._behind = behind

    def raw_since(self) -> int:
        """Return from when on every raw sample is still there."""
        return self._behind.raw_since()

    def rollup_widths(self) -> Sequence[int]:
        """Return how wide the buckets are that it keeps."""
        return self._behind.rollup_widths()

    def rolled_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""
        return self._behind.rolled_since(width)


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

    def some_series(self, matchers: Sequence[Matcher], start: int, end: int, most: int) -> list[Labels]:
        """Return the label sets of at most so many series that have samples between the two times."""


Load = Callable[[], SeriesGroup | None]


@runtime_checkable
class ScannableStorage(Protocol):
    """A store that can also give its groups one by one, for questions that need not hold all at once."""

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read a group each, in any thread; no series is in two of these groups."""
