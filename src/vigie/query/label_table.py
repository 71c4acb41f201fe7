"""Label sets as columns, so that they can be grouped without being built one by one."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

import numpy as np
from numpy.typing import NDArray

from vigie.query.storage import Labels

NAME = "__name__"
Codes = NDArray[np.intp]
Column = tuple[Sequence[str], Codes | None]
MAX_UNENCODED = 32  # rows of a part up to which encoding one by one is faster than as an array


class LabelTable(Sequence[Labels]):
    """A sequence of label sets, backed by columns."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> LabelTable:
        """Return only these rows, in this order."""

    @abstractmethod
    def without(self, names: Iterable[str]) -> LabelTable:
        """Drop some labels."""

    @abstractmethod
    def names(self) -> set[str]:
        """Return the label names that a row may have."""

    @abstractmethod
    def column(self, name: str) -> tuple[Sequence[str], Codes | None]:
        """Return the values of a label and each row's index into them; None if all rows have the first."""

    @abstractmethod
    def sharing_key(self, names: Iterable[str]) -> Hashable:
        """Return a key that is equal for other rows only if these labels are, row by row."""

    @abstractmethod
    def row(self, index: int) -> Labels: ...

    def __iter__(self) -> Iterator[Labels]:
        return map(self.row, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Labels: ...

    @overload
    def __getitem__(self, index: slice) -> list[Labels]: ...

    def __getitem__(self, index: int | slice) -> Labels | list[Labels]:
        if isinstance(index, slice):
            return [self.row(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.row(index % len(self))


def take_rows(labels: Sequence[Labels], rows: NDArray[np.intp]) -> Sequence[Labels]:
    """Return only these label sets, in this order."""
    if isinstance(labels, LabelTable):
        return labels.take(rows)
    return [labels[row] for row in rows.tolist()]


def drop_names(labels: Sequence[Labels]) -> Sequence[Labels]:
    if isinstance(labels, LabelTable):
        return labels.without((NAME,))
    return [{name: value for name, value in each.items() if name != NAME} for each in labels]


def metric_names(labels: Sequence[Labels]) -> set[str]:
    """Return the distinct metric names; an absent one is empty."""
    if isinstance(labels, LabelTable):
        values, codes = labels.column(NAME)
        return set(values[:1]) if codes is None else {values[code] for code in np.unique(codes).tolist()}
    return {each.get(NAME, "") for each in labels}


def encode_column(labels: Sequence[Labels], name: str) -> tuple[Sequence[str], Codes | None]:
    """Return the values of a label and each row's index into them; None if all rows have the first."""
    if isinstance(labels, LabelTable):
        return labels.column(name)
    numbers: dict[str, int] = {"": 0}
    codes = [numbers.setdefault(each.get(name, ""), len(numbers)) for each in labels]
    return list(numbers), np.array(codes, dtype=np.intp)


class _ConcatParts:
    """Concatenated tables, with cached columns."""

    def __init__(self, parts: Sequence[LabelTable]) -> None:
        self.parts = parts
        self.heights = [len(part) for part in parts]
        self.ends = np.cumsum(self.heights).tolist()
        self._columns: dict[str, Column] = {}
        self._names: frozenset[str] | None = None

    def row(self, index: int) -> Labels:
        part = bisect_right(self.ends, index)
        return self.parts[part].row(index - self.ends[part] + self.heights[part])

    def names(self) -> frozenset[str]:
        if self._names is None:
            self._names = frozenset().union(*[part.names() for part in self.parts])
        return self._names

    def column(self, name: str) -> Column:
        """Return the values of a label and each row's index into them."""
        if name not in self._columns:
            self._columns[name] = self._encode(name)
        return self._columns[name]

    def _encode(self, name: str) -> Column:
        numbers: dict[str, int] = {}
        constants: list[int] = []  # per part, the code that all its rows have
        varying: list[tuple[int, Sequence[str], Codes]] = []
        for index, part in enumerate(self.parts):
            values, codes = part.column(name)
            if codes is None:
                constants.append(numbers.setdefault(values[0], len(numbers)))
            else:
                constants.append(0)
                varying.append((index, values, codes))
        if not varying and len(numbers) == 1:
            return list(numbers), None
        column = np.repeat(np.array(constants, dtype=np.intp), self.heights)
        for index, values, codes in varying:
            end = self.ends[index]
            column[end - len(codes) : end] = _recode(values, codes, numbers)
        return list(numbers), column


def _recode(values: Sequence[str], codes: Codes, numbers: dict[str, int]) -> Codes | list[int]:
    """Return the codes of a part as codes of the whole; a part may have unused values."""
    if len(codes) <= MAX_UNENCODED:
        return [numbers.setdefault(values[code], len(numbers)) for code in codes.tolist()]
    if len(values) <= len(codes):
        return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.intp)[codes]
    used, places = np.unique(codes, return_inverse=True)
    known = [numbers.setdefault(values[code], len(numbers)) for code in used.tolist()]
    renumbered: Codes = np.array(known, dtype=np.intp)[places.ravel()]
    return renumbered


class ConcatLabelTable(LabelTable):
    """Some rows of concatenated tables, without dropped labels."""

    def __init__(
        self, parts: _ConcatParts, rows: Codes | None = None, dropped: frozenset[str] = frozenset()
    ) -> None:
        self._parts, self._rows, self._dropped = parts, rows, dropped

    @classmethod
    def of(cls, parts: Sequence[LabelTable]) -> ConcatLabelTable:
        first = parts[0]
        if isinstance(first, ConcatLabelTable):
            rows = [
                part._rows
                for part in parts
                if isinstance(part, ConcatLabelTable) and part._shares_parts(first)
            ]
            known = [some for some in rows if some is not None]
            if len(known) == len(parts):  # reuse the columns computed for an earlier query
                return cls(first._parts, np.concatenate(known), first._dropped)
        return cls(_ConcatParts(parts))

    def _shares_parts(self, other: ConcatLabelTable) -> bool:
        return self._parts is other._parts and self._dropped == other._dropped

    def __len__(self) -> int:
        return sum(self._parts.heights) if self._rows is None else len(self._rows)

    def __iter__(self) -> Iterator[Labels]:
        if self._rows is not None:
            return super().__iter__()
        return chain.from_iterable([part.without(self._dropped) for part in self._parts.parts])

    def row(self, index: int) -> Labels:
        labels = self._parts.row(index if self._rows is None else int(self._rows[index]))
        if not self._dropped:
            return labels
        return {name: value for name, value in labels.items() if name not in self._dropped}

    def take(self, rows: Codes) -> ConcatLabelTable:
        return ConcatLabelTable(self._parts, rows if self._rows is None else self._rows[rows], self._dropped)

    def without(self, names: Iterable[str]) -> ConcatLabelTable:
        return ConcatLabelTable(self._parts, self._rows, self._dropped.union(names))

    def names(self) -> set[str]:
        return set(self._parts.names() - self._dropped)

    def column(self, name: str) -> Column:
        if name in self._dropped:
            return ("",), None
        values, codes = self._parts.column(name)
        return values, codes if codes is None or self._rows is None else codes[self._rows]

    def sharing_key(self, names: Iterable[str]) -> Hashable:  # noqa: ARG002 - each is of a kind of its own
        return self


class MatrixLabelTable(LabelTable):
    """Rows of a few labels, which are known as columns."""

    def __init__(self, columns: dict[str, Column], height: int) -> None:
        self._columns, self._height = columns, height

    def __len__(self) -> int:
        return self._height

    def __iter__(self) -> Iterator[Labels]:
        names = list(self._columns)
        columns = [expand_column(column, self._height) for column in self._columns.values()]
        if not columns:
            return iter([{} for _ in range(self._height)])
        rows = zip(*columns, strict=True)
        return ({name: value for name, value in zip(names, row, strict=True) if value} for row in rows)

    def row(self, index: int) -> Labels:
        labels = {}
        for name, (values, codes) in self._columns.items():
            value = values[0 if codes is None else codes[index]]
            if value:
                labels[name] = value
        return labels

    def take(self, rows: Codes) -> MatrixLabelTable:
        columns = {
            name: (values, codes if codes is None else codes[rows])
            for name, (values, codes) in self._columns.items()
        }
        return MatrixLabelTable(columns, len(rows))

    def without(self, names: Iterable[str]) -> MatrixLabelTable:
        dropped = set(names)
        columns = {name: column for name, column in self._columns.items() if name not in dropped}
        return MatrixLabelTable(columns, self._height)

    def names(self) -> set[str]:
        return set(self._columns)

    def column(self, name: str) -> Column:
        return self._columns.get(name, (("",), None))

    def sharing_key(self, names: Iterable[str]) -> Hashable:  # noqa: ARG002 - each is of a kind of its own
        return self


def expand_column(column: Column, height: int) -> list[str]:
    values, codes = column
    return [values[0]] * height if codes is None else [values[code] for code in codes.tolist()]
