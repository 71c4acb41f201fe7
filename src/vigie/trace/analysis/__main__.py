"""Summarizes one trace file in a process of its own: `python -m vigie.trace.analysis FILE`."""

from __future__ import annotations

import contextlib
import os
import sys

import msgspec

from vigie.trace.analysis.reader import InvalidTraceError
from vigie.trace.analysis.summary import summarize_trace


def main() -> int:
    with contextlib.suppress(OSError):
        os.nice(10)  # queries and ingest come first
    try:
        with open(sys.argv[1], "rb") as file:
            summary = summarize_trace(file)
    except (InvalidTraceError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.buffer.write(msgspec.json.encode(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
