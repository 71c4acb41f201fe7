"""Small traces as PyTorch's profiler writes them, for tests."""

import io
import json
from pathlib import Path
from typing import Any

from vigie.trace.analysis.summary import summarize_trace
from vigie.wire.api.trace_reports import TraceSummary

RECORDED = Path(__file__).parents[1] / "recorded"


def event(
    cat: str, name: str, start: float, length: float, tid: object = 7, **args: object
) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 7,
        "tid": tid,
        "ts": start,
        "dur": length,
        "args": args,
    }


def window(length: float) -> dict[str, Any]:
    return {**event("Trace", "PyTorch Profiler (0)", 0, length, "PyTorch Profiler"), "pid": "Spans"}


def summarize(*events: dict[str, Any], **metadata: object) -> TraceSummary:
    return summarize_trace(io.BytesIO(json.dumps({**metadata, "traceEvents": events}).encode()))


def summarize_recorded(name: str) -> dict[int, TraceSummary]:
    summaries = {}
    for rank in range(4):
        with (RECORDED / name / f"rank{rank}.json.gz").open("rb") as file:
            summaries[rank] = summarize_trace(file)
    return summaries


def shares_ms(summary: TraceSummary) -> dict[str, float]:
    return {share.kind: round(share.seconds * 1e3, 3) for share in summary.shares if share.seconds}
