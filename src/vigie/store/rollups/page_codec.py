"""Encodes pages of buckets by column group."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from vigie.query.buckets import FIELDS, Buckets, Cells, empty_buckets, stack_buckets
from vigie.store.blocks.chunk import Chunk
from vigie.store.compression.codec import pack_times, unseal
from vigie.store.rollups import column_groups as rollup_groups
from vigie.store.rollups.cell_codec import SHARED
from vigie.store.series.layout import Columns, Layout, split_columns

_NEEDS = {
    "first": {"last"},
    "low": {"first", "last"},
    "high": {"first", "last"},
    "total": {"first", "last", "low", "high"},
    "lost": {"first", "last"},
}
MAX_TIME = 1 << 62


def encode_page(layout: Layout, buckets: Buckets, width: int) -> Chunk:
    """Encode the buckets of an ordered layout's series as a chunk in memory."""
    shared = _shared_rows(buckets)
    blobs = rollup_groups.pack_columns(layout.column_groups, buckets, shared)
    start, end = int(buckets.ends[0]) - width, int(buckets.ends[-1])
    packed = pack_times(np.concatenate([shared[name] for name in SHARED]).astype(np.int64))
    return Chunk(layout, start, end, len(buckets.ends), packed, blobs.__getitem__)


def decode_page(page: Chunk, columns: Columns, width: int, wanted: Collection[str]) -> Buckets:
    """Decode the buckets of some columns; fields that are not requested are empty."""
    ends = np.arange(page.start + width, page.end + 1, width, dtype=np.int64)
    rows = page.times.reshape(len(SHARED), page.rows)
    shared = {name: row[np.newaxis] for name, row in zip(SHARED, rows, strict=True)}
    needed = set(SHARED).union(wanted, *(_NEEDS.get(name, ()) for name in wanted))
    read, heights = [], []
    for group, height, selected in split_columns(page.layout, columns):
        some = _decode_group(page.blob(group), shared, (height, page.rows), needed)
        buckets = Buckets(ends, **some)
        read.append(buckets if selected is None else buckets.rows(selected))
        heights.append(height if selected is None else len(selected))
    return stack_buckets(read, heights)


def _shared_rows(buckets: Buckets) -> dict[str, Cells]:
    """Return, per bucket, the number of times, and the first and last of them."""
    count = buckets.count.max(axis=0)
    some = buckets.count > 0
    first = np.where(some, buckets.first_at, MAX_TIME).min(axis=0)
    last = np.where(some, buckets.last_at, -MAX_TIME).max(axis=0)
    return {
        "count": count,
        "first_at": np.where(count > 0, first, 0),
        "last_at": np.where(count > 0, last, 0),
    }


def _decode_group(
    blob: bytes, shared: dict[str, Cells], shape: tuple[int, int], needed: Collection[str]
) -> dict[str, Cells]:
    _, _, content = unseal(blob)
    cells = rollup_groups.unpack_columns(content, shared, shape, needed)
    return {name: cells[name] if name in cells else empty_buckets(name, 1, shape[1]) for name in FIELDS}
