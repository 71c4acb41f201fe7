"""Buckets to sealed bytes and back, metric by metric: a cell is written only where it cannot be guessed.

Of a counter low and high are its first and last value, of a constant all five are one number, and all
series of a stream mostly have their samples at the same times.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence

import numpy as np

from vigie.query.rolled_buckets import FIELDS, Buckets, Cells, nothing, stacked
from vigie.query.vectors import Flags
from vigie.store.chunk import Chunk
from vigie.store.codec import (
    Floats,
    Times,
    pack_floats,
    pack_parts,
    pack_times,
    unpack_floats,
    unpack_parts,
    unpack_times,
)
from vigie.store.layout import Columns, Layout
from vigie.store.rollup_whole import PARTS, WHOLE, WholePage, guessed_total, unpacked

SHARED = ("count", "first_at", "last_at")  # guessed from one row that stands for the whole page
BESIDE = (*SHARED, "lost")  # what is written the same way, whatever the values are
_NEEDS = {
    "first": {"last"},
    "low": {"first", "last"},
    "high": {"first", "last"},
    "total": {"first", "last"},
}
_ALL = b"*"
LATEST = 1 << 62


def page_of(layout: Layout, buckets: Buckets, width: int) -> Chunk:
    """Return the buckets of an ordered layout's series as a chunk in memory."""
    shared = _shared_rows(buckets)
    values = {name: _high(getattr(buckets, name), len(layout)) for name in (*WHOLE, "total")}
    whole = WholePage(layout.metrics, values, buckets.count)
    simple = all(len(getattr(buckets, name)) == 1 for name in SHARED)
    blobs = []
    for metric, (first, last) in enumerate(layout.metrics):
        parts = whole.packed(metric, first, last)
        if parts is not None and simple and not buckets.lost[first:last].any():
            blobs.append(pack_parts(parts))
            continue
        some = {name: _rows(getattr(buckets, name), first, last) for name in FIELDS}
        names = FIELDS if parts is None else BESIDE
        blobs.append(pack_parts([*(parts or ()), *_packed(some, shared, names)]))
    start, end = int(buckets.ends[0]) - width, int(buckets.ends[-1])
    packed = pack_times(np.concatenate([shared[name] for name in SHARED]).astype(np.int64))
    return Chunk(layout, start, end, len(buckets.ends), packed, blobs.__getitem__)


def buckets_of(page: Chunk, columns: Columns, width: int, wanted: Collection[str]) -> Buckets:
    """Return the buckets of some columns; fields that are not wanted are left empty."""
    ends = np.arange(page.start + width, page.end + 1, width, dtype=np.int64)
    rows = page.times.reshape(len(SHARED), page.rows)
    shared = {name: row[np.newaxis] for name, row in zip(SHARED, rows, strict=True)}
    metric_of = page.layout.metric_of[columns]
    needed = set(SHARED).union(wanted, *(_NEEDS.get(name, ()) for name in wanted))
    read, heights = [], []
    for metric in np.unique(metric_of).tolist():
        first, last = page.layout.metrics[metric]
        some = _unpacked(page.blob(metric), shared, (last - first, page.rows), needed)
        lines = columns[metric_of == metric] - first
        read.append(Buckets(ends, **some).rows(lines))
        heights.append(len(lines))
    return stacked(read, heights)


def _high(cells: Cells, height: int) -> Cells:
    return np.broadcast_to(cells, (height, cells.shape[1]))


def _rows(cells: Cells, first: int, last: int) -> Cells:
    if len(cells) == 1:
        return np.broadcast_to(cells, (last - first, cells.shape[1]))
    return np.ascontiguousarray(cells[first:last])


def _shared_rows(buckets: Buckets) -> dict[str, Cells]:
    """Return, for each bucket, how many times there were, and the first and the last of them."""
    count = buckets.count.max(axis=0)
    some = buckets.count > 0
    first = np.where(some, buckets.first_at, LATEST).min(axis=0)
    last = np.where(some, buckets.last_at, -LATEST).max(axis=0)
    return {
        "count": count,
        "first_at": np.where(count > 0, first, 0),
        "last_at": np.where(count > 0, last, 0),
    }


def _packed(cells: dict[str, Cells], shared: dict[str, Cells], names: Sequence[str]) -> list[bytes]:
    parts = []
    for name in names:
        here = cells[name]
        guess = _guessed(name, cells, shared, here.shape)
        differs = _words(here) != _words(np.broadcast_to(guess, here.shape))
        if not differs.any():
            parts += [b"", b""]
            continue
        here = _distance(here, guess) if name == "total" else here
        values = np.ascontiguousarray(here[differs])
        mask = _ALL if differs.all() else zlib.compress(np.packbits(differs).tobytes())
        parts += [mask, pack_times(values) if values.dtype == np.int64 else pack_floats(values)]
    return parts


def _unpacked(
    blob: bytes, shared: dict[str, Cells], shape: tuple[int, int], needed: Collection[str]
) -> dict[str, Cells]:
    parts = unpack_parts(blob)
    cells: dict[str, Cells] = {}
    whole, parts = ([], parts) if len(parts) == 2 * len(FIELDS) else (parts[:PARTS], parts[PARTS:])
    parts = parts or [b""] * 2 * len(BESIDE)
    for i, name in enumerate(BESIDE if whole else FIELDS):
        mask, content = parts[2 * i : 2 * i + 2]
        if name not in needed:
            cells[name] = nothing(name, 1, shape[1])
        elif not mask:
            guess = _guessed(name, cells, shared, (1, shape[1]))
            cells[name] = guess
        else:
            values = unpack_times(content) if name in ("first_at", "last_at") else unpack_floats(content)
            cells[name] = _filled(name, mask, values, cells, shared, shape)
    if whole:
        cells |= unpacked(whole, cells["count"], shape[0], needed)
    return {name: cells[name] if name in cells else nothing(name, 1, shape[1]) for name in FIELDS}


def _filled(
    name: str,
    mask: bytes,
    values: Floats | Times,
    cells: dict[str, Cells],
    shared: dict[str, Cells],
    shape: tuple[int, int],
) -> Cells:
    if mask == _ALL:
        whole: Cells = values.reshape(shape)
        return _arrived(whole, _guessed(name, cells, shared, shape)) if name == "total" else whole
    differs = np.unpackbits(np.frombuffer(zlib.decompress(mask), np.uint8), count=shape[0] * shape[1])
    where = differs.astype(np.bool_).reshape(shape)
    made: Cells = np.broadcast_to(_guessed(name, cells, shared, shape), shape).copy()
    made[where] = _arrived(values, made[where]) if name == "total" else values
    return made


def _distance(totals: Floats, guess: Floats) -> Floats:
    """Return how far sums are from their guess, to 13 digits of the sum: the others are noise of adding."""
    with np.errstate(all="ignore"):
        scale = 10.0 ** np.clip(12 - np.floor(np.log10(np.abs(totals))), 0, 15)
        exact = totals - guess
        short = np.round(exact * scale) / scale
        return np.where(np.isfinite(short), short, np.where(np.isfinite(exact), exact, totals))


def _arrived(distance: Floats | Times, guess: Floats) -> Floats:
    """Return the sums again; an infinite one, or a NaN, stands for itself."""
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(distance) & np.isfinite(guess), guess + distance, distance)


def _guessed(name: str, cells: dict[str, Cells], shared: dict[str, Cells], shape: tuple[int, int]) -> Cells:
    """Return what a field is expected to be, given the fields before it."""
    if name == "count":
        return shared[name].reshape(1, -1).astype(np.float64)
    some: Flags = cells["count"] > 0
    if name in SHARED:
        return np.where(some, shared[name].reshape(1, -1), 0)
    if name == "first":
        return cells["last"]
    with np.errstate(all="ignore"):
        if name == "low":
            return np.fmin(cells["first"], cells["last"])
        if name == "high":
            return np.fmax(cells["first"], cells["last"])
        if name == "total":
            return np.where(some, guessed_total(cells["count"], cells["first"], cells["last"]), 0.0)
    return nothing(name, 1, shape[1])


def _words(cells: Cells) -> Cells:
    return np.ascontiguousarray(cells).view(np.uint64)
