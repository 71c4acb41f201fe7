"""Instant vectors over all steps of a query: label sets beside one matrix of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vigie.query.arrays import Flags, Floats, Indices
from vigie.query.errors import SAME_LABELSET, ExecutionError
from vigie.query.label_table import NAME as NAME
from vigie.query.label_table import ConcatLabelTable, LabelTable, drop_names, metric_names, take_rows
from vigie.query.storage import Labels

Key = frozenset[tuple[str, str]]


class Vector(NamedTuple):
    """Rows are series, columns are steps; where `present` is false there is no sample, whatever the value."""

    labels: Sequence[Labels]
    values: Floats
    present: Flags

    def rows(self, wanted: Indices | Flags) -> Vector:
        """Return only these rows, in this order."""
        chosen: Indices = np.flatnonzero(wanted) if wanted.dtype == np.bool_ else wanted.astype(np.intp)
        return Vector(take_rows(self.labels, chosen), self.values[chosen], self.present[chosen])

    def without_empty_rows(self) -> Vector:
        """Return only the series that have a sample at some step."""
        some: Flags = np.logical_or.reduce(self.present, axis=1)
        return self if some.all() else self.rows(some)

    def steps_with_any(self) -> Flags:
        """Tell at which steps some series has a sample."""
        steps: Flags = np.logical_or.reduce(self.present, axis=0)
        return steps

    def map(self, function: Callable[[Floats], Floats]) -> Vector:
        """Return new numbers under the labels without the metric's name."""
        with np.errstate(all="ignore"):
            return Vector(self.labels, function(self.values), self.present).without_names()

    def without_names(self) -> Vector:
        """Return the same numbers without the metric's name, which they no longer measure."""
        bare = Vector(drop_names(self.labels), self.values, self.present)
        return bare if len(metric_names(self.labels)) <= 1 else bare.merged()

    def merged(self) -> Vector:
        """Join rows of the same labels; two of them with a sample at the same step are an error."""
        places: dict[Key, list[int]] = {}
        for row, labels in enumerate(self.labels):
            places.setdefault(key_of(labels), []).append(row)
        if len(places) == len(self.labels):
            return self
        firsts = np.array([rows[0] for rows in places.values()], dtype=np.intp)
        result = self.rows(firsts)
        for place, rows in enumerate(places.values()):
            for row in rows[1:]:
                if (result.present[place] & self.present[row]).any():
                    raise ExecutionError(SAME_LABELSET)
                np.copyto(result.values[place], self.values[row], where=self.present[row])
                result.present[place] |= self.present[row]
        return result

    def refuse_duplicates(self) -> Vector:
        """Return the vector itself, unless two of its series have the same labels."""
        if len({key_of(labels) for labels in self.labels}) < len(self.labels):
            raise ExecutionError(SAME_LABELSET)
        return self


Value = Vector | Floats | str


def empty(steps: int) -> Vector:
    """Return a vector without series."""
    return Vector([], np.empty((0, steps)), np.empty((0, steps), dtype=np.bool_))


def single(values: Floats, labels: Labels | None = None, present: Flags | None = None) -> Vector:
    """Return a vector of one series."""
    flags = np.ones(len(values), dtype=np.bool_) if present is None else present
    return Vector([labels or {}], values[np.newaxis], flags[np.newaxis]).without_empty_rows()


def stack_vectors(parts: Iterable[Vector], steps: int) -> Vector:
    """Return the rows of all parts, one after the other."""
    parts = [part for part in parts if len(part.labels)]
    if not parts:
        return empty(steps)
    if len(parts) == 1:
        return parts[0]
    labels = concat_vectors([part.labels for part in parts])
    values = np.concatenate([part.values for part in parts])
    return Vector(labels, values, np.concatenate([part.present for part in parts]))


def concat_vectors(parts: Sequence[Sequence[Labels]]) -> Sequence[Labels]:
    """Return the label sets of all parts; where a store knows their columns, so does the result."""
    known = [part for part in parts if isinstance(part, LabelTable)]
    if len(known) == len(parts):
        return known[0] if len(known) == 1 else ConcatLabelTable.of(known)
    return [labels for part in parts for labels in part]


def key_of(labels: Labels) -> Key:
    """Return what two equal label sets have in common."""
    return frozenset(labels.items())


def drop_name(labels: Labels) -> dict[str, str]:
    """Return the labels without the metric's name."""
    rest = dict(labels)
    rest.pop(NAME, None)
    return rest
