"""Which operators and kernels take the time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from vigie.trace.analysis.columns import Columns, EventTable
from vigie.trace.analysis.event_kinds import GPU_KINDS, Kind
from vigie.trace.analysis.intervals import CHUNK_EVENTS, Times
from vigie.wire.api.trace_reports import OperatorTime

MAX_OPERATORS = 30
NS = 1e9


def rank_operators(
    table: EventTable, threads: Iterable[Columns], window: tuple[int, int]
) -> list[OperatorTime]:
    """Return the operators with most time of their own over all threads, clipped to the window."""
    counts = np.zeros(len(table.names), np.int64)
    totals, own = counts.copy(), counts.copy()
    for columns in threads:
        for index in _split_calls(columns, table.mask_kinds(columns, Kind.OPERATOR)):
            starts, ends = np.clip(columns.starts[index], *window), np.clip(columns.ends[index], *window)
            names = columns.names[index]
            np.add.at(counts, names, 1)
            np.add.at(totals, names, ends - starts)
            np.add.at(own, names, measure_self_times(starts, ends))
    return _rank(table.names, counts, totals, own)


def _split_calls(columns: Columns, mask: NDArray[np.bool_]) -> Iterator[NDArray[np.int32]]:
    """Yield the masked events, ordered for `measure_self_times`, some at a time; no call is cut in two."""
    index = np.flatnonzero(mask).astype(np.int32)
    starts = columns.starts[index]
    if (starts[1:] < starts[:-1]).any():
        index = index[np.argsort(starts, kind="stable")]
    del starts
    while len(index):
        end = CHUNK_EVENTS
        while end < len(index):
            starts, ends = columns.starts[index[: end + 1]], columns.ends[index[: end + 1]]
            outermost = np.flatnonzero(starts[1:] >= np.maximum.accumulate(ends)[:-1])
            if len(outermost):
                end = int(outermost[-1]) + 1
                break
            end *= 2
        piece, index = index[:end], index[end:]
        yield piece[np.lexsort((-columns.ends[piece], columns.starts[piece]))]


def rank_kernels(table: EventTable, gpu: Columns) -> list[OperatorTime]:
    mask = table.mask_kinds(gpu, *GPU_KINDS)
    counts = np.bincount(gpu.names[mask], minlength=len(table.names))
    totals = np.zeros(len(table.names), np.int64)
    np.add.at(totals, gpu.names[mask], (gpu.ends - gpu.starts)[mask])
    return _rank(table.names, counts, totals, totals)


def measure_self_times(starts: Times, ends: Times) -> Times:
    """Return each event's length without that of the events directly inside it.

    The events are of one thread, ordered by start, longer ones first. An event's depth is the number of
    events begun before it that have not ended; its parent is the last event before it of one depth less.
    """
    own = (ends - starts).astype(np.int64)
    if not len(starts):
        return own
    depths = np.arange(len(starts)) - np.searchsorted(np.sort(ends), starts, side="right")
    depths = np.maximum(depths, 0)
    for depth in range(1, int(depths.max()) + 1):
        children = np.flatnonzero(depths == depth)
        parents = np.flatnonzero(depths == depth - 1)
        place = np.searchsorted(parents, children) - 1
        known = place >= 0
        children, owners = children[known], parents[place[known]]
        # A child that outlasts its parent counts only as far as the parent reaches.
        inside = np.minimum(ends[children], ends[owners]) - starts[children]
        np.subtract.at(own, owners, np.maximum(inside, 0))
    return np.maximum(own, 0)


def _rank(names: list[str], counts: Times, totals: Times, own: Times) -> list[OperatorTime]:
    """Add up names that stand in several categories, and return the longest."""
    times: dict[str, OperatorTime] = {}
    for i in np.flatnonzero(counts):
        time = times.setdefault(names[i], OperatorTime(names[i], 0, 0.0, 0.0))
        time.count += int(counts[i])
        time.total_seconds += float(totals[i]) / NS
        time.self_seconds += float(own[i]) / NS
    return sorted(times.values(), key=lambda time: -time.self_seconds)[:MAX_OPERATORS]
