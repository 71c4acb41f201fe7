"""The events of a trace as columns of numbers: 20 bytes an event in place of an object each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vigie.trace.analysis.event_kinds import Kind, classify_event
from vigie.trace.analysis.intervals import CHUNK_EVENTS, Intervals, Times, union
from vigie.trace.analysis.reader import Identifier, TraceEvent

MAX_THREADS = 4096
MAX_NAMES = 100_000
MAX_NAME_LENGTH = 500  # names of C++ kernels have several thousand letters
OTHER_NAMES = "(other)"
NS_PER_US = 1000

_GPU_CATEGORIES = frozenset(("kernel", "gpu_memcpy", "gpu_memset"))

ThreadKey = tuple[Identifier, Identifier]


class Columns(NamedTuple):
    """Starts and ends in nanoseconds since the trace's base, and the number of each event's name."""

    starts: Times
    ends: Times
    names: NDArray[np.int32]

    def intervals(self, mask: NDArray[np.bool_]) -> Intervals:
        return union((self.starts[part][mask[part]], self.ends[part][mask[part]]) for part in self._parts())

    def _parts(self) -> Iterator[slice]:
        for i in range(0, len(self.starts), CHUNK_EVENTS):
            yield slice(i, i + CHUNK_EVENTS)


class _ColumnBuilder:
    def __init__(self) -> None:
        self.times, self.durations, self.names = array("d"), array("d"), array("i")

    def build(self) -> Columns:
        """Turn microseconds into nanoseconds in place: copies would double the memory of large traces."""
        starts, ends = _to_nanoseconds(self.times), _to_nanoseconds(self.durations)
        ends += starts
        return Columns(starts, ends, np.frombuffer(self.names, np.int32) if self.names else _NO_NAMES)


_NO_NAMES = np.empty(0, np.int32)


def _to_nanoseconds(microseconds: array[float]) -> Times:
    if not microseconds:
        return np.empty(0, np.int64)
    floats = np.frombuffer(microseconds, np.float64)
    integers = floats.view(np.int64)
    for i in range(0, len(floats), CHUNK_EVENTS):
        integers[i : i + CHUNK_EVENTS] = np.rint(floats[i : i + CHUNK_EVENTS] * NS_PER_US)
    return integers


class EventTable:
    """Sorts events by thread; GPU work goes into one table of its own."""

    def __init__(self) -> None:
        self.window: tuple[int, int] | None = None
        self.unfinished = 0
        self.overhead_ns = 0
        self.names: list[str] = []
        self.kinds: list[Kind] = []
        self._name_ids: dict[tuple[str, str, bool], int | None] = {}
        self._gpu = _ColumnBuilder()
        self._threads: dict[ThreadKey, _ColumnBuilder] = {}

    def add(self, events: Iterable[TraceEvent]) -> None:
        name_ids, threads, gpu = self._name_ids, self._threads, self._gpu
        for event in events:
            if event.ph != "X" or event.ts is None:
                continue
            args = event.args
            is_collective = args is not None and args.collective is not None
            key = (event.cat, event.name, is_collective)
            try:
                name_id = name_ids[key]
            except KeyError:
                name_id = self._add_name(key)
            if name_id is None:
                self._add_span(event)
                continue
            if args is not None and args.finished is False:
                self.unfinished += 1
            if event.cat in _GPU_CATEGORIES:
                builder = gpu
            else:
                thread = (event.pid, event.tid)
                found = threads.get(thread)
                if found is None:
                    if len(threads) >= MAX_THREADS:
                        continue
                    found = threads[thread] = _ColumnBuilder()
                builder = found
            builder.times.append(event.ts)
            builder.durations.append(event.dur or 0.0)
            builder.names.append(name_id)

    def build_gpu(self) -> Columns:
        return self._gpu.build()

    def build_threads(self) -> dict[ThreadKey, Columns]:
        return {key: builder.build() for key, builder in self._threads.items()}

    def mask_kinds(self, columns: Columns, *kinds: Kind) -> NDArray[np.bool_]:
        """Return which events of the columns are of one of the kinds."""
        wanted = np.isin(np.array(self.kinds, np.int8), kinds) if self.kinds else np.empty(0, np.bool_)
        return wanted[columns.names] if len(columns.names) else np.empty(0, np.bool_)

    def _add_name(self, key: tuple[str, str, bool]) -> int | None:
        if len(self._name_ids) >= MAX_NAMES:
            key = (key[0], OTHER_NAMES, key[2])
            if key in self._name_ids:
                return self._name_ids[key]
        kind = classify_event(*key)
        name_id = None
        if kind is not None:
            self.names.append(key[1][:MAX_NAME_LENGTH])
            self.kinds.append(kind)
            name_id = len(self.names) - 1
        self._name_ids[key] = name_id
        return name_id

    def _add_span(self, event: TraceEvent) -> None:
        """Take the recorded window and the profiler's own cost; neither is work of the program."""
        start, duration = round((event.ts or 0) * NS_PER_US), round((event.dur or 0) * NS_PER_US)
        if event.cat == "Trace" and (self.window is None or duration > self.window[1] - self.window[0]):
            self.window = (start, start + duration)
        elif event.cat == "overhead":
            self.overhead_ns += duration
