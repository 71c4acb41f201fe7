"""The `up` of a node that is not there: 0 at each moment at which a frame should have come."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vigie.model.values import STALE_BITS
from vigie.query.rolled.buckets import FIELDS, Buckets, nothing
from vigie.query.storage import Group, Labels
from vigie.query.vectors import Floats, Times
from vigie.server.absence.absences import JOB
from vigie.server.absence.gaps import REMOVED, STOPPED, Gap, late_after

STALE = np.array([STALE_BITS], dtype=np.uint64).view(np.float64)


def zero_times(gap: Gap, start: int, end: int) -> Times:
    """Return the times of the zeros of a gap in a time span, both ends included."""
    first, count = _zeros(gap)
    low = max(0, -(-(start - first) // gap.step))
    high = min(count - 1, (end - first) // gap.step)
    return first + gap.step * np.arange(low, high + 1, dtype=np.int64)


def with_zeros(
    group: Group | None, labels: Labels, gaps: Iterable[Gap], start: int, end: int
) -> Group | None:
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
    return Group([labels], every, np.concatenate(values)[first][np.newaxis]) if len(every) else None


def rolled_with_zeros(buckets: Buckets | None, gaps: Iterable[Gap], ends: Times, width: int) -> Buckets:
    """Return a node's buckets with the zeros of the gaps among their samples."""
    cells = {
        name: getattr(buckets, name)[:1].copy() if buckets else nothing(name, 1, len(ends)) for name in FIELDS
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
