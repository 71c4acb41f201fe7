"""The /status document: each source, how it went, why, what it cost, how old its data are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vigie
from vigie.agent.source_reader import Outcome, SourceReader


def status(node: str, readings: Sequence[SourceReader], now: float) -> dict[str, Any]:
    """Return the document, ready for JSON."""
    return {
        "node": node,
        "version": vigie.__version__,
        "sources": {reading.source.name: _source(reading, now) for reading in readings},
    }


def _source(reading: SourceReader, now: float) -> dict[str, Any]:
    pending = reading.outcome is Outcome.PENDING
    return {
        "state": reading.outcome.value,
        "reason": reading.reason or None,
        "notes": dict(reading.host.notes.copy()),
        "series": len(reading.values.numbers),
        "age_seconds": None if pending else round(now - reading.read_at, 3),
        "duration_seconds": None if pending else round(reading.duration, 6),
        "seconds_total": round(reading.seconds, 6),
        "errors_total": reading.errors,
        "read": "at its own cadence" if reading.source.slow else "at every scrape",
    }
