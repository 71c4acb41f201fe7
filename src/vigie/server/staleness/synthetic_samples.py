"""Ends the series of a node with its last frame before a gap, in a group as it is read."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vigie.model.nan import ABSENT_BITS, STALE_BITS
from vigie.query.arrays import Floats, Times
from vigie.query.buckets import FIELDS, Buckets, empty_buckets
from vigie.query.label_table import LabelTable
from vigie.query.storage import Labels, SeriesGroup
from vigie.server.staleness.activity import JOB
from vigie.server.staleness.gaps import REMOVED, STOPPED, Gap, late_after

STALE = np.array([STALE_BITS], dtype=np.uint64).view(np.float64)


def zero_times(gap: Gap, start: int, end: int) -> Times:
    """Return the times of the zeros of a gap in a time span, both ends included."""
    first, count = _zeros(gap)
    low = max(0, -(-(start - first) // gap.step))
    high = min(count - 1, (end - first) // gap.step)
    return first + gap.step * np.arange(low, high + 1, dtype=np.int64)


def with_zeros(
    group: SeriesGroup | None, labels: Labels, gaps: Iterable[Gap], start: int, end: int
) -> SeriesGroup | None:
    """Return a node's up with what it was in the gaps; the group has that series alone, or is missing."""
    times, values = [], []
    if group is not None:
        times.append(group.times)
        values.append(group.values[0])
    for gap in gaps:
        found = zero_times(gap, start, end)
        times.append(found)
        values.append(np.zeros(len(found)))
        # A node that was away is up again; an exporter on it may be there no more, and nobody says so.
        ends = gap.why == REMOVED or (gap.ends_series and labels["job"] != JOB)
        if ends and start <= gap.start + 1 <= end:
            times.append(np.array([gap.start + 1], dtype=np.int64))
            values.append(STALE)
    every, first = np.unique(np.concatenate(times), return_index=True)
    return SeriesGroup([labels], every, np.concatenate(values)[first][np.newaxis]) if len(every) else None


def rolled_with_zeros(buckets: Buckets | None, gaps: Iterable[Gap], ends: Times, width: int) -> Buckets:
    """Return a node's buckets with the zeros of the gaps among their samples."""
    cells = {
        name: getattr(buckets, name)[:1].copy() if buckets else empty_buckets(name, 1, len(ends))
        for name in FIELDS
    }
    for gap in gaps:
        first, last, count = _in_buckets(gap, ends, width)
        some = count > 0
        before = some & ((cells["count"] == 0) | (first < cells["first_at"]))
        after = some & ((cells["count"] == 0) | (last > cells["last_at"]))
        cells["first"], cells["last"] = _put(cells["first"], before, 0.0), _put(cells["last"], after, 0.0)
        cells["first_at"] = np.where(before, first, cells["first_at"])
        cells["last_at"] = np.where(after, last, cells["last_at"])
        cells["low"] = np.where(some, np.fmin(cells["low"], 0.0), cells["low"])
        cells["high"] = np.where(some, np.fmax(cells["high"], 0.0), cells["high"])
        cells["count"] = cells["count"] + count
    return Buckets(ends, **cells)


def _put(cells: Floats, where: np.typing.NDArray[np.bool_], value: float) -> Floats:
    return np.where(where, value, cells)


def _zeros(gap: Gap) -> tuple[int, int]:
    """Return when the first zero is, and how many there are."""
    if gap.why == REMOVED:
        return gap.start, 0
    first = gap.start + (gap.step if gap.why == STOPPED else late_after(gap.step))
    return first, max(0, -(-(gap.end - first) // gap.step))


def _in_buckets(gap: Gap, ends: Times, width: int) -> tuple[Times, Times, Times]:
    """Return the first and the last zero in each bucket, and how many there are."""
    first, count = _zeros(gap)
    low = np.maximum(0, (ends - width - first) // gap.step + 1)
    high = np.minimum(count - 1, (ends - first) // gap.step)
    return first + low * gap.step, first + high * gap.step, np.maximum(0, high - low + 1)


def target_of(group: SeriesGroup) -> tuple[str, str] | None:
    """Return instance and job of a group's series; None if they are of several."""
    instance, job = _only(group, "instance"), _only(group, "job")
    return (instance, job) if instance and job else None


def with_ends(group: SeriesGroup, gaps: Iterable[Gap], end: int) -> SeriesGroup:
    """Return the group with a stale marker behind the last frame before each gap that ends series."""
    places, times, columns = [], [], []
    for gap in gaps:
        place = int(group.times.searchsorted(gap.start, side="right"))
        marker = gap.start + 1
        if not gap.ends_series or not place or marker > end:
            continue
        bits = group.values[:, place - 1].view(np.uint64)
        live = (bits != ABSENT_BITS) & (bits != STALE_BITS)
        if live.any():
            places.append(place)
            times.append(marker)
            columns.append(np.where(live, np.uint64(STALE_BITS), np.uint64(ABSENT_BITS)))
    if not places:
        return group
    values = np.insert(group.values.view(np.uint64), places, np.stack(columns, axis=1), axis=1)
    return SeriesGroup(group.labels, np.insert(group.times, places, times), values.view(np.float64))


def _only(group: SeriesGroup, name: str) -> str:
    if isinstance(group.labels, LabelTable):
        values, codes = group.labels.column(name)
        if codes is None:
            return values[0] if values else ""
        return values[codes[0]] if len(codes) and (codes == codes[0]).all() else ""
    found = {labels.get(name, "") for labels in group.labels}
    return found.pop() if len(found) == 1 else ""
