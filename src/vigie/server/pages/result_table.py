"""The series of an answer as columns: few bytes between processes, and no object for each number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

import msgspec
import numpy as np

from vigie.query.arrays import Floats, Indices, Times
from vigie.query.label_table import encode_column
from vigie.query.vectors import Vector

Key = tuple[str, ...]


class SeriesRow(msgspec.Struct, array_like=True, frozen=True):
    """One series of an answer: the values of the wanted labels, and its numbers with their times."""

    labels: Key
    times: list[int]
    values: list[float]

    @property
    def value(self) -> float:
        return self.values[-1]


class PackedRows(msgspec.Struct, array_like=True, frozen=True):
    """The values of each wanted label and which of them each row has, the times, and a number for each."""

    labels: list[tuple[list[str], bytes]]
    times: list[int]
    values: bytes

    @classmethod
    def of(cls, vector: Vector, labels: Sequence[str], times: Times) -> PackedRows:
        """Pack what is wanted; a number that is none is as good as absent."""
        values = np.where(vector.present, vector.values, np.nan)
        some = ~np.isnan(values).all(axis=1)
        rows = np.flatnonzero(some)
        columns = [_column(vector, name, rows) for name in labels]
        return cls(columns, times.tolist(), values[rows].tobytes())


def _column(vector: Vector, name: str, rows: Indices) -> tuple[list[str], bytes]:
    values, codes = encode_column(vector.labels, name)
    if codes is None:
        return [values[0]], b""
    used, places = np.unique(codes[rows], return_inverse=True)
    return [values[code] for code in used.tolist()], places.astype(np.uint32).tobytes()


class ResultTable(Sequence[SeriesRow]):
    """What was packed, to be read row by row, or all numbers at once."""

    def __init__(self, packed: PackedRows) -> None:
        self._packed = packed
        self._values: Floats = np.frombuffer(packed.values).reshape(-1, len(packed.times))

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, place: int) -> SeriesRow: ...

    @overload
    def __getitem__(self, place: slice) -> list[SeriesRow]: ...

    def __getitem__(self, place: int | slice) -> SeriesRow | list[SeriesRow]:
        if isinstance(place, slice):
            return [self._row(row) for row in range(*place.indices(len(self)))]
        return self._row(range(len(self))[place])

    def __iter__(self) -> Iterator[SeriesRow]:
        return map(self._row, range(len(self)))

    @cached_property
    def keys(self) -> list[Key]:
        """Return the wanted labels of each row."""
        columns = [
            values[:1] * len(self)
            if not codes
            else [values[code] for code in np.frombuffer(codes, dtype=np.uint32).tolist()]
            for values, codes in self._packed.labels
        ]
        return list(zip(*columns, strict=True)) if columns else [()] * len(self)

    def numbers(self) -> Mapping[Key, float]:
        if len(self._packed.times) == 1:
            return dict(zip(self.keys, self._values[:, 0].tolist(), strict=True))
        return {row.labels: row.value for row in self}

    def _row(self, place: int) -> SeriesRow:
        values = self._values[place]
        there = np.flatnonzero(~np.isnan(values)).tolist()
        times = self._packed.times
        return SeriesRow(
            self.keys[place], [times[step] for step in there], [float(values[step]) for step in there]
        )
