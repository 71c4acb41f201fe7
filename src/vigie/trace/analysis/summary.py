"""Where the time of one rank went: shares that add up to the recorded window."""

from __future__ import annotations

import gc
import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from vigie.trace.analysis.columns import Columns, EventTable, ThreadKey
from vigie.trace.analysis.event_kinds import Kind
from vigie.trace.analysis.intervals import EMPTY, Intervals, Times, union
from vigie.trace.analysis.operators import rank_kernels, rank_operators
from vigie.trace.analysis.reader import InvalidTraceError, TraceReader, open_trace
from vigie.trace.analysis.steps import find_steps
from vigie.trace.analysis.timeline import build_timeline
from vigie.wire.api.trace_reports import Gap, Share, TraceSummary

BETWEEN_KERNELS_NS = 5_000  # a shorter gap is the hardware's own
MAX_GAPS = 10
NS = 1e9
SLICE_EVENTS = 500_000
SLICES = 12  # of the window, to see whether a difference between ranks lasts

# Shares of a rank with GPU work, and of one without; each set adds up to the window.
COMPUTE, COMMUNICATION, COPY, DATA = "compute", "communication", "copy", "data"
SYNC, LAUNCH, OUTSIDE, BETWEEN = "sync", "launch", "outside", "between-kernels"
# What the thread that launches work does while the GPU has none, the first that fits.
_IDLE_CAUSES = {DATA: (Kind.DATA,), SYNC: (Kind.SYNC,), LAUNCH: (Kind.OPERATOR, Kind.RUNTIME)}


def summarize_trace(stream: io.BufferedIOBase) -> TraceSummary:
    """Read a trace file, compressed or not, or raise InvalidTraceError."""
    reader = TraceReader(open_trace(stream))
    table = EventTable()
    with _paused_gc():
        for events in reader.read_batches():
            table.add(events)
    return _Summarizer(reader, table).summarize()


@contextmanager
def _paused_gc() -> Iterator[None]:
    """Millions of objects come and go here and none forms a cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Slice(NamedTuple):
    """A part of the window."""

    start: int
    end: int


class _Summarizer:
    def __init__(self, reader: TraceReader, table: EventTable) -> None:
        self._reader, self._table = reader, table
        self._gpu = table.build_gpu()
        self._threads = table.build_threads()
        self._start, self._end = self._find_window()
        self._main = self._find_main_thread()

    def summarize(self) -> TraceSummary:
        operators = rank_operators(self._table, self._threads.values(), (self._start, self._end))
        communication, kinds = self._split_window()
        compute = kinds[COMPUTE]
        window = self._end - self._start
        edges = np.linspace(self._start, self._end, SLICES + 1).astype(np.int64)
        metadata = self._reader.metadata
        distributed = metadata.get("distributedInfo")
        distributed = distributed if isinstance(distributed, dict) else {}
        return TraceSummary(
            start_ns=_as_int(metadata.get("baseTimeNanoseconds")) + self._start,
            window_seconds=window / NS,
            has_gpu=self.has_gpu,
            shares=[Share(kind, s.length / NS, s.length / window) for kind, s in kinds.items()],
            communication_seconds=communication.length / NS,
            communication_hidden_seconds=(communication & compute).length / NS,
            communication_slices=[float(ns) / NS for ns in communication.measure(edges)],
            operators=operators,
            kernels=rank_kernels(self._table, self._gpu),
            steps=find_steps(self._table, self._main),
            gaps=self._find_gaps(kinds),
            timeline=build_timeline(kinds, self._start, self._end),
            coverage_ratio=self._measure_coverage(),
            overhead_ratio=self._table.overhead_ns / window,
            unfinished_events=self._table.unfinished,
            bad_events=self._reader.bad_events,
            is_truncated=self._reader.is_truncated,
            rank=_optional_int(distributed.get("rank")),
            world_size=_optional_int(distributed.get("world_size")),
            trace_id=str(metadata.get("trace_id", "")),
            messages=_read_messages(metadata),
        )

    @property
    def has_gpu(self) -> bool:
        return len(self._gpu.starts) > 0

    def _find_window(self) -> tuple[int, int]:
        if self._table.window is not None and self._table.window[1] > self._table.window[0]:
            return self._table.window
        bounds = [(c.starts.min(), c.ends.max()) for c in self._all_columns() if len(c.starts)]
        if not bounds:
            raise InvalidTraceError("the trace has no events")
        start, end = int(min(b[0] for b in bounds)), int(max(b[1] for b in bounds))
        return start, max(end, start + 1)

    def _all_columns(self) -> list[Columns]:
        return [self._gpu, *self._threads.values()]

    def _find_main_thread(self) -> Columns:
        """Return the thread that launches GPU work, else the one with the optimizer or most operators."""

        def score(key: ThreadKey) -> tuple[int, int, int]:
            columns = self._threads[key]
            count = self._count
            return (
                count(columns, Kind.RUNTIME) if self.has_gpu else 0,
                count(columns, Kind.STEP, Kind.OPTIMIZER, Kind.DATA),
                count(columns, Kind.OPERATOR),
            )

        if not self._threads:
            return Columns(EMPTY.starts, EMPTY.ends, np.empty(0, np.int32))
        return self._threads[max(self._threads, key=score)]

    def _count(self, columns: Columns, *kinds: Kind) -> int:
        return int(self._table.mask_kinds(columns, *kinds).sum())

    def _split_window(self) -> tuple[Intervals, dict[str, Intervals]]:
        """Return all communication, and the window divided among exclusive kinds.

        Large traces are divided some time at a time, which bounds the memory that sorting needs.
        """
        events = sum(len(columns.starts) for columns in self._all_columns())
        edges = np.linspace(self._start, self._end, 2 + events // SLICE_EVENTS).astype(np.int64)
        split = self._split_gpu_work if self.has_gpu else self._split_cpu_work
        slices = [split(_Slice(int(a), int(b))) for a, b in pairwise(edges)]
        return _join([part[0] for part in slices]), {
            kind: _join([part[1][kind] for part in slices]) for kind in slices[0][1]
        }

    def _union(self, columns: Columns, span: _Slice, *kinds: Kind) -> Intervals:
        mask = self._table.mask_kinds(columns, *kinds)
        mask &= (columns.starts < span.end) & (columns.ends > span.start)
        return columns.intervals(mask).clip(*span)

    def _split_gpu_work(self, span: _Slice) -> tuple[Intervals, dict[str, Intervals]]:
        communication = self._union(self._gpu, span, Kind.COLLECTIVE_KERNEL)
        compute = self._union(self._gpu, span, Kind.KERNEL)
        copies = self._union(self._gpu, span, Kind.COPY) - compute - communication
        kinds = {COMPUTE: compute, COMMUNICATION: communication - compute, COPY: copies}
        idle = (compute | communication | copies).complement(*span)
        short = idle.ends - idle.starts < BETWEEN_KERNELS_NS
        between = Intervals(idle.starts[short], idle.ends[short])
        rest = Intervals(idle.starts[~short], idle.ends[~short])
        for kind, causes in _IDLE_CAUSES.items():
            kinds[kind] = rest & self._union(self._main, span, *causes)
            rest = rest - kinds[kind]
        return communication, {**kinds, OUTSIDE: rest, BETWEEN: between}

    def _split_cpu_work(self, span: _Slice) -> tuple[Intervals, dict[str, Intervals]]:
        communication = EMPTY
        for columns in self._threads.values():
            communication = communication | self._union(columns, span, Kind.COLLECTIVE)
        data = self._union(self._main, span, Kind.DATA)
        compute = self._union(self._main, span, Kind.OPERATOR) - data
        exposed = communication - compute - data
        rest = (data | compute | exposed).complement(*span)
        return communication, {COMPUTE: compute, COMMUNICATION: exposed, DATA: data, OUTSIDE: rest}

    def _find_gaps(self, kinds: dict[str, Intervals]) -> list[Gap]:
        """Return the longest stretches without work, with the innermost event of the main thread there."""
        gaps = [
            Gap(kind, (start - self._start) / NS, (end - start) / NS, self._describe((start + end) // 2))
            for kind in (*_IDLE_CAUSES, OUTSIDE)
            if kind in kinds
            for start, end in kinds[kind].longest(MAX_GAPS)
        ]
        return sorted(gaps, key=lambda gap: -gap.seconds)[:MAX_GAPS]

    def _describe(self, moment: int) -> str:
        main = self._main
        around = np.flatnonzero((main.starts <= moment) & (main.ends > moment))
        if not len(around):
            return ""
        innermost = around[np.argmin(main.ends[around] - main.starts[around])]
        return self._table.names[int(main.names[innermost])]

    def _measure_coverage(self) -> float:
        """Return which part of the window lies between the first and the last event."""
        columns = [c for c in self._all_columns() if len(c.starts)]
        if not columns:
            return 0.0
        first: Times = np.array([min(int(c.starts.min()) for c in columns)])
        last: Times = np.array([max(int(c.ends.max()) for c in columns)])
        return Intervals(first, last).clip(self._start, self._end).length / (self._end - self._start)


def _join(parts: list[Intervals]) -> Intervals:
    return union(((np.concatenate([p.starts for p in parts]), np.concatenate([p.ends for p in parts])),))


def _as_int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _optional_int(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _read_messages(metadata: dict[str, Any]) -> list[str]:
    lines = [metadata.get(level) for level in ("ERROR", "WARNING")]
    return [str(line)[:300] for group in lines if isinstance(group, list) for line in group[:10]]
