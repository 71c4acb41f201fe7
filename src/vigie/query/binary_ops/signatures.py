"""Match signatures: series get equal numbers if the labels that must match are equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vigie.query.arrays import Flags, Indices
from vigie.query.label_table import NAME, LabelTable, encode_column
from vigie.query.storage import Labels


def encode_signatures(
    left: Sequence[Labels], right: Sequence[Labels], names: Sequence[str], *, on: bool
) -> tuple[Indices, Indices]:
    """Number the series of two vectors by the labels with these names, or by all others."""
    if on and (isinstance(left, LabelTable) or isinstance(right, LabelTable)):
        return _encode_columns(left, right, names)
    known: dict[object, int] = {}
    sides = [
        np.array(
            [known.setdefault(key, len(known)) for key in _signature_keys(series, names, on=on)],
            dtype=np.intp,
        )
        for series in (left, right)
    ]
    return sides[0], sides[1]


def _signature_keys(series: Sequence[Labels], names: Sequence[str], *, on: bool) -> list[object]:
    if on:
        return [tuple([labels.get(name, "") for name in names]) for labels in series]
    ignored = {*names, NAME}
    return [frozenset([pair for pair in labels.items() if pair[0] not in ignored]) for labels in series]


def _encode_columns(
    left: Sequence[Labels], right: Sequence[Labels], names: Sequence[str]
) -> tuple[Indices, Indices]:
    """Compute signatures by encoded columns, without building a label set per row."""
    combined: Indices = np.zeros(len(left) + len(right), dtype=np.intp)
    for name in names:
        numbers: dict[str, int] = {}
        codes = np.concatenate([_encode_label(series, name, numbers) for series in (left, right)])
        # Renumbered each time, so that the product of many labels cannot overflow.
        combined = np.unique(combined * len(numbers) + codes, return_inverse=True)[1].ravel()
    return combined[: len(left)], combined[len(left) :]


def _encode_label(series: Sequence[Labels], name: str, numbers: dict[str, int]) -> Indices:
    values, codes = encode_column(series, name)
    known = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.intp)
    return np.full(len(series), known[0]) if codes is None else known[codes]


def are_unique(numbers: Indices) -> bool:
    return not len(numbers) or int(np.bincount(numbers).max()) == 1


def pair_rows(many: Indices, one: Indices) -> tuple[Indices, Indices]:
    """Return the rows of both sides with the same signature, as pairs."""
    order = np.argsort(one, kind="stable")
    ranked = one[order]
    first = ranked.searchsorted(many)
    counts = ranked.searchsorted(many, side="right") - first
    rows = np.repeat(np.arange(len(many)), counts)
    # The index of each pair among those of its row.
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, order[np.repeat(first, counts) + within]


def find_overlap(numbers: Indices, present: Flags) -> list[int]:
    """Return two rows with the same signature and a sample at the same step, or an empty list."""
    if are_unique(numbers):
        return []
    groups: dict[int, list[int]] = {}
    for row, number in enumerate(numbers.tolist()):
        groups.setdefault(number, []).append(row)
    for rows in groups.values():
        if len(rows) > 1:
            overlap = np.flatnonzero(present[rows].sum(axis=0) > 1)
            if len(overlap):
                return [row for row in rows if present[row, overlap[0]]][:2]
    return []


def present_by_signature(numbers: Indices, present: Flags, wanted: Indices) -> Flags:
    """Return, for each wanted signature, the steps at which some row with it has a sample."""
    size = int(max(numbers.max(initial=-1), wanted.max(initial=-1))) + 1
    steps = np.zeros((size, present.shape[1]), dtype=np.bool_)
    if are_unique(numbers):
        steps[numbers] = present
    else:
        np.logical_or.at(steps, numbers, present)
    return steps[wanted]
