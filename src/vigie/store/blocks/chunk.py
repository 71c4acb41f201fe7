"""Immutable rows: times, and values as sealed bytes per column group, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from vigie.store.compression.codec import (
    Floats,
    Times,
    is_dense,
    pack_times,
    unpack_times,
)
from vigie.store.compression.column_groups import fill_column_group, pack_column_groups
from vigie.store.series.layout import ColumnCut, Columns, Layout, Layouts, split_columns


class Chunk(NamedTuple):
    """Has the read interface of a head; only the column groups that a query needs are decompressed."""

    layout: Layout  # columns sorted by metric
    start: int
    end: int
    rows: int
    packed_times: bytes
    blob: Callable[[int], bytes]  # sealed values of the layout's n-th column group
    since: int = 0
    replaces: Sequence[int] = ()
    number: int = 0  # in the block store, 0 if not stored; a stored chunk may also be cached in memory

    @property
    def times(self) -> Times:
        return unpack_times(self.packed_times)

    @property
    def values(self) -> Floats:
        return self.read(np.arange(len(self.layout)), 0, self.rows)[0].T

    def read(self, columns: Columns, first: int, last: int) -> tuple[Floats, bool]:
        cuts, vectors = split_columns(self.layout, columns), np.empty((len(columns), last - first))
        blobs = [self.blob(cut.group) for cut in cuts]
        return vectors, fill_vectors(blobs, cuts, self.rows, first, last, vectors)


def fill_vectors(
    blobs: Sequence[bytes], cuts: Sequence[ColumnCut], rows: int, first: int, last: int, out: Floats
) -> bool:
    """Write one row per column, and return whether a cell may be absent."""
    sparse, at = False, 0
    for blob, (_, height, wanted) in zip(blobs, cuts, strict=True):
        sparse = sparse or not is_dense(blob)
        stop = at + (height if wanted is None else len(wanted))
        fill_column_group(blob, height, rows, wanted, first, last, out[at:stop])
        at = stop
    return sparse


def compress_chunk(layouts: Layouts, layout: Layout, times: Times, values: Floats, level: int) -> Chunk:
    order_by_metric = layouts.order_by_metric(layout)
    vectors = values.T if order_by_metric is layout else values.T[layout.metric_order]
    vectors = np.ascontiguousarray(vectors)
    blobs = pack_column_groups(vectors, order_by_metric.column_groups, level)
    start, end = int(times[0]), int(times[-1])
    return Chunk(order_by_metric, start, end, len(times), pack_times(times), blobs.__getitem__)
