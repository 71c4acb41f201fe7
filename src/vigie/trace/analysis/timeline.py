"""The window as a row of coloured spans, coarse enough to draw."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vigie.trace.analysis.intervals import Intervals
from vigie.wire.api.trace_reports import Span

MAX_SPANS = 2000
NS = 1e9


def build_timeline(kinds: Mapping[str, Intervals], start: int, end: int) -> list[Span]:
    """Return neighbouring spans of whatever kind fills most of each cell."""
    edges = np.linspace(start, end, MAX_SPANS + 1).astype(np.int64)
    names = list(kinds)
    lengths = np.stack([kinds[name].measure(edges) for name in names])
    winners = lengths.argmax(axis=0)
    changes = np.flatnonzero(np.concatenate(([True], winners[1:] != winners[:-1])))
    bounds = [*((edges[changes] - start) / NS), (end - start) / NS]
    return [
        Span(float(a), float(b), names[winners[i]])
        for a, b, i in zip(bounds, bounds[1:], changes, strict=False)
    ]
