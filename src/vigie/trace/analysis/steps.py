"""The training steps of a trace."""

from __future__ import annotations

import numpy as np

from vigie.trace.analysis.columns import Columns, EventTable
from vigie.trace.analysis.event_kinds import Kind
from vigie.trace.analysis.intervals import Times
from vigie.wire.api.trace_reports import StepTimes

NS = 1e9


def find_steps(table: EventTable, main: Columns) -> StepTimes | None:
    """Return the steps of the main thread, or None where fewer than two whole ones are seen."""
    marked = table.mask_kinds(main, Kind.STEP)
    if marked.sum() >= 2:
        return _summarize("ProfilerStep", np.sort((main.ends - main.starts)[marked]))
    ends = _find_optimizer_ends(table, main)
    return _summarize("Optimizer.step", np.diff(ends)) if len(ends) >= 3 else None


def _find_optimizer_ends(table: EventTable, main: Columns) -> Times:
    """Return when each step of the most used optimizer ended."""
    marked = table.mask_kinds(main, Kind.OPTIMIZER)
    names, ends = main.names[marked], main.ends[marked]
    if not len(names):
        return np.empty(0, np.int64)
    return np.sort(ends[names == np.bincount(names).argmax()])


def _summarize(mark: str, lengths: Times) -> StepTimes:
    return StepTimes(
        mark,
        len(lengths),
        float(np.median(lengths)) / NS,
        float(lengths.min()) / NS,
        float(lengths.max()) / NS,
    )
