"""Whether a trace is what was asked for; if not, why."""

from __future__ import annotations

from vigie.wire.api import trace_session as states
from vigie.wire.api.trace_reports import TraceSummary
from vigie.wire.api.trace_session import TraceSession

MIN_COVERAGE = 0.5
DURATION_TOLERANCE = 0.5  # of the window asked for

_MISSING = {
    states.ASSIGNED: "It never fetched the request: it polls every 5 s while it lives. Check that it runs.",
    states.FETCHED: "It fetched the request and wrote no file. Likely a profiler is in use in the program, or"
    " the request came too late for its warm-up. Try again.",
    states.TRACING: "It is still recording. With --iterations: does it run optimizer steps?",
    states.WRITING: "It is still writing its file. Trace a shorter time, or without stacks and shapes.",
}


def describe_missing(state: str) -> str:
    """Return why a rank's file did not come, by how far it got."""
    return _MISSING.get(state, "No file was written.")


def verify_summary(summary: TraceSummary, session: TraceSession) -> str:
    """Return what is odd about a trace, in sentences; empty when it is as asked."""
    remarks = []
    if summary.is_truncated:
        remarks.append("The file ends early: it was cut off while it was written.")
    if summary.bad_events:
        remarks.append(f"{summary.bad_events} events could not be read.")
    if session.iterations and summary.steps is None:
        remarks.append(
            "No steps are in it: the trainer had not begun its loop and recorded 500 ms of its start-up."
        )
    if not session.iterations:
        asked = session.duration_ms / 1000
        if abs(summary.window_seconds - asked) > max(DURATION_TOLERANCE * asked, 0.2):
            remarks.append(f"It covers {summary.window_seconds:.2f} s, {asked:.2f} s were asked for.")
    if summary.coverage_ratio < MIN_COVERAGE:
        remarks.append(f"Only {summary.coverage_ratio:.0%} of the time has events: was it in its loop?")
    return " ".join([*remarks, *summary.messages[:2]])
