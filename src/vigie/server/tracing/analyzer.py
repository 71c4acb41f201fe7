"""Runs the analysis of a trace in a process of its own: it takes seconds and hundreds of megabytes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from vigie.wire.api.trace_reports import TraceSummary

ANALYSIS_SECONDS = 300.0
_decode = msgspec.json.Decoder(TraceSummary).decode


class AnalysisError(Exception):
    """The trace could not be read; the message says why."""


class TraceAnalyzer:
    """Analyses one trace at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)

    async def summarize(self, path: Path) -> TraceSummary:
        async with self._turn:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "vigie.trace.analysis", str(path)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                output, errors = await asyncio.wait_for(process.communicate(), ANALYSIS_SECONDS)
            except TimeoutError:
                raise AnalysisError(f"the analysis took longer than {ANALYSIS_SECONDS:.0f} s") from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if process.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            raise AnalysisError(lines[-1][:300] if lines else "the analysis failed")
        return _decode(output)
