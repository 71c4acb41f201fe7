"""Sorting functions for instant queries; the series of a range query are always sorted by labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vigie.query.arrays import Floats
from vigie.query.storage import Labels
from vigie.query.vectors import Vector

Natural = tuple[tuple[int, int, str], ...]  # per part: whether it is text, its length if not, its text


def sort(vector: Vector) -> Vector:
    """Sort by value, NaN last."""
    return _sort_values(vector, vector.values)


def sort_desc(vector: Vector) -> Vector:
    """Sort by value, descending, NaN last."""
    return _sort_values(vector, -vector.values)


def _sort_values(vector: Vector, keys: Floats) -> Vector:
    if vector.values.shape[1] != 1:
        return vector
    return vector.rows(np.argsort(keys[:, 0], kind="stable"))


def sort_by_label(vector: Vector, names: Iterable[str]) -> Vector:
    """Sort by the values of these labels, in natural order; then by all labels."""
    return _sort_labels(vector, names, reverse=False)


def sort_by_label_desc(vector: Vector, names: Iterable[str]) -> Vector:
    return _sort_labels(vector, names, reverse=True)


def _sort_labels(vector: Vector, names: Iterable[str], *, reverse: bool) -> Vector:
    if vector.values.shape[1] != 1:
        return vector
    wanted = list(names)

    def key(row: int) -> tuple[list[Natural], list[tuple[str, str]]]:
        labels = vector.labels[row]
        return [_natural_key(labels.get(name, "")) for name in wanted], label_sort_key(labels)

    order = sorted(range(len(vector.labels)), key=key, reverse=reverse)
    return vector.rows(np.array(order, dtype=np.intp))


def label_sort_key(labels: Labels) -> list[tuple[str, str]]:
    """Return the sort key of a label set, as in Prometheus."""
    return sorted(labels.items())


def _natural_key(text: str) -> Natural:
    """Return a natural sort key: node2 before node10."""
    parts: list[tuple[int, int, str]] = []
    rest = text
    while rest:
        words = rest.lstrip("0123456789")
        digits = rest[: len(rest) - len(words)]
        if digits:
            number = digits.lstrip("0")  # of two numbers, the one with more digits is larger
            parts.append((0, len(number), number))
            rest = words
        else:
            end = next((place for place, letter in enumerate(rest) if letter in "0123456789"), len(rest))
            parts.append((1, 0, rest[:end]))
            rest = rest[end:]
    return tuple(parts)
