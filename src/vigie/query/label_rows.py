"""Label sets that stand together: made one by one when they are asked for, grouped without being made."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from vigie.query.storage import Labels

NAME = "__name__"
Codes = NDArray[np.intp]


class LabelRows(Sequence[Labels]):
    """What a store may give in place of a list of label sets, if it knows their columns."""

    @abstractmethod
    def taken(self, rows: NDArray[np.intp]) -> LabelRows:
        """Return only these rows, in this order."""

    @abstractmethod
    def without(self, names: Iterable[str]) -> LabelRows:
        """Return the rows without some labels."""

    @abstractmethod
    def names(self) -> set[str]:
        """Return the names of the labels that a row may have."""

    @abstractmethod
    def column(self, name: str) -> tuple[Sequence[str], Codes | None]:
        """Return the values of a label and for each row which it has; None if all have the first."""

    @abstractmethod
    def kind(self, names: Iterable[str]) -> Hashable:
        """Return what is the same for other rows only if these labels are, row by row."""

    @abstractmethod
    def row(self, place: int) -> Labels:
        """Return one label set."""

    def __iter__(self) -> Iterator[Labels]:
        return map(self.row, range(len(self)))

    @overload
    def __getitem__(self, place: int) -> Labels: ...

    @overload
    def __getitem__(self, place: slice) -> list[Labels]: ...

    def __getitem__(self, place: int | slice) -> Labels | list[Labels]:
        if isinstance(place, slice):
            return [self.row(i) for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self.row(place % len(self))


def taken(labels: Sequence[Labels], rows: NDArray[np.intp]) -> Sequence[Labels]:
    """Return only these label sets, in this order."""
    if isinstance(labels, LabelRows):
        return labels.taken(rows)
    return [labels[row] for row in rows.tolist()]


def nameless(labels: Sequence[Labels]) -> Sequence[Labels]:
    """Return the label sets without the metric's name."""
    if isinstance(labels, LabelRows):
        return labels.without((NAME,))
    return [{name: value for name, value in each.items() if name != NAME} for each in labels]


def metric_names(labels: Sequence[Labels]) -> set[str]:
    """Return the metric names that occur; an absent one is empty."""
    if isinstance(labels, LabelRows):
        values, codes = labels.column(NAME)
        return set(values[:1]) if codes is None else {values[code] for code in np.unique(codes).tolist()}
    return {each.get(NAME, "") for each in labels}


def column_of(labels: Sequence[Labels], name: str) -> tuple[Sequence[str], Codes | None]:
    """Return the values of a label and for each row which it has; None if all have the first."""
    if isinstance(labels, LabelRows):
        return labels.column(name)
    numbers: dict[str, int] = {"": 0}
    codes = [numbers.setdefault(each.get(name, ""), len(numbers)) for each in labels]
    return list(numbers), np.array(codes, dtype=np.intp)
