"""Instant vectors at all steps of a query: label sets and a matrix."""

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
    """Rows are series, columns are steps; where `present` is false there is no sample."""

    labels: Sequence[Labels]
    values: Floats
    present: Flags

    def rows(self, wanted: Indices | Flags) -> Vector:
        """Return only these rows, in this order."""
        chosen: Indices = np.flatnonzero(wanted) if wanted.dtype == np.bool_ else wanted.astype(np.intp)
        return Vector(take_rows(self.labels, chosen), self.values[chosen], self.present[chosen])

    def without_empty_rows(self) -> Vector:
        """Drop series without samples."""
        some: Flags = np.logical_or.reduce(self.present, axis=1)
        return self if some.all() else self.rows(some)

    def steps_with_any(self) -> Flags:
        """Return the steps at which some series has a sample."""
        steps: Flags = np.logical_or.reduce(self.present, axis=0)
        return steps

    def map(self, function: Callable[[Floats], Floats]) -> Vector:
        """Apply a function to the values, and drop the metric name."""
        with np.errstate(all="ignore"):
            return Vector(self.labels, function(self.values), self.present).without_names()

    def without_names(self) -> Vector:
        bare = Vector(drop_names(self.labels), self.values, self.present)
        return bare if len(metric_names(self.labels)) <= 1 else bare.merge_rows()

    def merge_rows(self) -> Vector:
        """Merge rows with equal labels; two samples at the same step are an error."""
        places: dict[Key, list[int]] = {}
        for row, labels in enumerate(self.labels):
            places.setdefault(label_set_key(labels), []).append(row)
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
        """Raise if two series have the same labels."""
        if len({label_set_key(labels) for labels in self.labels}) < len(self.labels):
            raise ExecutionError(SAME_LABELSET)
        return self


Value = Vector | Floats | str


def empty_vector(steps: int) -> Vector:
    return Vector([], np.empty((0, steps)), np.empty((0, steps), dtype=np.bool_))


def single_series(values: Floats, labels: Labels | None = None, present: Flags | None = None) -> Vector:
    flags = np.ones(len(values), dtype=np.bool_) if present is None else present
    return Vector([labels or {}], values[np.newaxis], flags[np.newaxis]).without_empty_rows()


def stack_vectors(parts: Iterable[Vector], steps: int) -> Vector:
    """Concatenate the rows of all parts."""
    parts = [part for part in parts if len(part.labels)]
    if not parts:
        return empty_vector(steps)
    if len(parts) == 1:
        return parts[0]
    labels = concat_labels([part.labels for part in parts])
    values = np.concatenate([part.values for part in parts])
    return Vector(labels, values, np.concatenate([part.present for part in parts]))


def concat_labels(parts: Sequence[Sequence[Labels]]) -> Sequence[Labels]:
    """Concatenate label sets; the result is a table if all parts are."""
    known = [part for part in parts if isinstance(part, LabelTable)]
    if len(known) == len(parts):
        return known[0] if len(known) == 1 else ConcatLabelTable.of(known)
    return [labels for part in parts for labels in part]


def label_set_key(labels: Labels) -> Key:
    """Return a hashable key of a label set."""
    return frozenset(labels.items())


def drop_name(labels: Labels) -> dict[str, str]:
    rest = dict(labels)
    rest.pop(NAME, None)
    return rest
