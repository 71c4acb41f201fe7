"""Splits series groups into blocks in which every series has a sample at every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vigie.model.nan import ABSENT_BITS, STALE_BITS
from vigie.query.arrays import Flags, Floats, Indices, Times
from vigie.query.label_table import take_rows
from vigie.query.storage import Labels, SeriesGroup
from vigie.query.vectors import Key, label_set_key


class SampleBlock(NamedTuple):
    """Series with a sample at each of the times."""

    labels: Sequence[Labels]
    times: Times
    values: Floats


def is_stale(values: Floats) -> Flags:
    stale: Flags = values.view(np.uint64) == STALE_BITS
    return stale


def split_groups(groups: Sequence[SeriesGroup], *, keep_stale: bool) -> Iterator[SampleBlock]:
    """Yield the blocks of several groups; stale markers are kept only on request."""
    for group in join_groups(groups):
        yield from split_group(group, keep_stale=keep_stale)


def split_group(group: SeriesGroup, *, keep_stale: bool) -> Iterator[SampleBlock]:
    if not group.values.size:
        return
    if not np.isnan(group.values.min()):
        yield SampleBlock(group.labels, group.times, group.values)
        return
    bits = group.values.view(np.uint64)
    present = bits != ABSENT_BITS
    if not keep_stale:
        present &= bits != STALE_BITS
    yield from split_by_holes(group, present)


def split_by_holes(group: SeriesGroup, present: Flags) -> Iterator[SampleBlock]:
    """Yield one block per pattern of holes."""
    if not len(present):
        return
    full = present.all(axis=1)
    if full.all():
        yield SampleBlock(group.labels, group.times, group.values)
        return
    if full.any():
        yield _take_block(group, np.flatnonzero(full), slice(None))
    patterns: dict[bytes, list[int]] = {}
    packed = np.packbits(present, axis=1)
    for row in np.flatnonzero(~full & present.any(axis=1)).tolist():
        patterns.setdefault(packed[row].tobytes(), []).append(row)
    for rows in patterns.values():
        yield _take_block(group, np.array(rows, dtype=np.intp), present[rows[0]])


def _take_block(group: SeriesGroup, rows: Indices, columns: Flags | slice) -> SampleBlock:
    values = group.values[rows][:, columns]
    return SampleBlock(take_rows(group.labels, rows), group.times[columns], values)


def join_groups(groups: Sequence[SeriesGroup]) -> list[SeriesGroup]:
    """Return groups in which every series is in one group only."""
    groups = [group for group in groups if len(group.labels) and len(group.times)]
    if not groups:
        return []
    if max(group.times[0] for group in groups) <= min(group.times[-1] for group in groups):
        return groups  # all overlap in time, so no series continues in another group
    parts: dict[Key, list[tuple[int, int]]] = {}
    for number, group in enumerate(groups):
        for row, labels in enumerate(group.labels):
            parts.setdefault(label_set_key(labels), []).append((number, row))
    if len(parts) == sum(len(group.labels) for group in groups):
        return groups
    by_groups: dict[tuple[int, ...], list[list[int]]] = {}
    for positions in parts.values():
        group_rows = by_groups.setdefault(tuple(number for number, _ in positions), [])
        group_rows.append([row for _, row in positions])
    return [_join_parts([groups[number] for number in numbers], rows) for numbers, rows in by_groups.items()]


def _join_parts(groups: list[SeriesGroup], rows: list[list[int]]) -> SeriesGroup:
    rows_by_group = list(zip(*rows, strict=True))  # the rows of each group
    labels = take_rows(groups[0].labels, np.array(rows_by_group[0], dtype=np.intp))
    times = np.concatenate([group.times for group in groups])
    values = np.concatenate(
        [group.values[list(part)] for group, part in zip(groups, rows_by_group, strict=True)], axis=1
    )
    return SeriesGroup(labels, times, values)
