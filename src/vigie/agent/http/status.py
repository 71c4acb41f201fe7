"""The /status document: state, reason, cost and age of each source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vigie
from vigie.agent.source_reader import Outcome, SourceReader


def build_status(node: str, readers: Sequence[SourceReader], now: float) -> dict[str, Any]:
    """Return the document as JSON types."""
    return {
        "node": node,
        "version": vigie.__version__,
        "sources": {reader.source.name: _build_source(reader, now) for reader in readers},
    }


def _build_source(reader: SourceReader, now: float) -> dict[str, Any]:
    pending = reader.outcome is Outcome.PENDING
    return {
        "state": reader.outcome.value,
        "reason": reader.reason or None,
        "notes": dict(reader.host.notes.copy()),
        "series": len(reader.values.numbers),
        "age_seconds": None if pending else round(now - reader.read_at, 3),
        "duration_seconds": None if pending else round(reader.duration, 6),
        "seconds_total": round(reader.seconds, 6),
        "errors_total": reader.errors,
        "read": "at its own interval" if reader.source.slow else "at every scrape",
    }
