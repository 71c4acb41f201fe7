"""An in-memory storage for tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vigie.model.nan import ABSENT_BITS
from vigie.query.matchers import compile_series_test
from vigie.query.storage import Labels, Matcher, SeriesGroup


class MemoryStorage:
    """Keeps series in a list, and searches all of them."""

    def __init__(self, groups: Iterable[SeriesGroup] = ()) -> None:
        self._groups = list(groups)

    def add(self, labels: Labels, times: Sequence[int], values: Sequence[float]) -> None:
        """Add one series with its own timestamps."""
        matrix = np.array([values], dtype=np.float64)
        self._groups.append(SeriesGroup([labels], np.array(times, dtype=np.int64), matrix))

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        fits = compile_series_test(matchers)
        found = []
        for group in self._groups:
            rows = [row for row, labels in enumerate(group.labels) if fits(labels)]
            columns = slice(*np.searchsorted(group.times, [start, end + 1]).tolist())
            if rows and len(group.times[columns]):
                labels = [group.labels[row] for row in rows]
                found.append(SeriesGroup(labels, group.times[columns], group.values[rows, columns]))
        return found

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        unique = {frozenset(labels.items()): labels for labels in self._matching(matchers, start, end)}
        return list(unique.values())

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        return sorted({name for labels in self._matching(matchers, start, end) for name in labels})

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        return sorted({labels[name] for labels in self._matching(matchers, start, end) if labels.get(name)})

    def _matching(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Labels]:
        for group in self.select(matchers, start, end):
            for labels, values in zip(group.labels, group.values, strict=True):
                if _drop_absent(values).any():
                    yield labels


def _drop_absent(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    present: NDArray[np.bool_] = values.view(np.uint64) != ABSENT_BITS
    return present
