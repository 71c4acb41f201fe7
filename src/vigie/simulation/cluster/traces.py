"""Traces that users of the simulated cluster have taken; they agree with its incidents."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from vigie.server.tracing.library import TraceLibrary
from vigie.server.tracing.verification import describe_missing, verify_summary
from vigie.simulation.cluster.activity import CAPPED, STARVED_TO
from vigie.simulation.cluster.incidents import CLOCK_CAP, HANG, STARVED, ScriptedIncident
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.trace_file import SimulatedRank, build_trace
from vigie.simulation.cluster.workloads import SimulatedJob
from vigie.trace.analysis.ranks import compare_ranks
from vigie.trace.analysis.summary import summarize_trace
from vigie.wire.api import trace_session as states
from vigie.wire.api.trace_session import RankTrace, TraceSelection, TraceSession, TraceSwitches

FIRST_PID, FIRST_UID = 41_000, 1000
KEEP_ALL = 1 << 62  # the server that opens the library later has its own limits
SHORT_MS, LONG_MS = 500, 12_000  # the long one has whole steps of a job that waits for data
ITERATIONS = 5
# When each was taken, in minutes from now.
STRAGGLER_AT, STARVED_AT, HANG_AT = -20, -45, -4


def write_traces(scenario: Scenario, directory: Path) -> None:
    """Write a trace of each job that has a straggler, waits for data or hangs."""
    library = TraceLibrary(directory, max_bytes=KEEP_ALL, max_age_ms=KEEP_ALL)
    library.open()
    for incident, job in _find_jobs(scenario, CLOCK_CAP):
        session = _build_session(scenario, job, STRAGGLER_AT, duration_ms=SHORT_MS)
        _write_files(library, session, _run_beside_straggler(job, incident))
    for _, job in _find_jobs(scenario, STARVED):
        session = _build_session(scenario, job, STARVED_AT, duration_ms=LONG_MS)
        _write_files(library, session, _run_starved(job))
    for _, job in _find_jobs(scenario, HANG):
        library.save(_build_hung(scenario, job))


def _find_jobs(scenario: Scenario, kind: str) -> Iterator[tuple[ScriptedIncident, SimulatedJob]]:
    jobs = {job.id: job for job in scenario.jobs}
    for incident in scenario.incidents_of(kind):
        if incident.job in jobs:
            yield incident, jobs[incident.job]


def _list_places(job: SimulatedJob) -> list[tuple[str, int]]:
    return [(place.node, gpu) for place in job.places for gpu in place.gpus]


def _run_beside_straggler(job: SimulatedJob, incident: ScriptedIncident) -> list[SimulatedRank]:
    """Return the ranks of a job one of whose GPUs is throttled."""
    slow = (incident.node, incident.gpu)
    return [
        rank._replace(clock_ratio=CAPPED if place == slow else 1.0, slowest_ratio=CAPPED)
        for place, rank in zip(_list_places(job), _run_normally(job), strict=True)
    ]


def _run_starved(job: SimulatedJob) -> list[SimulatedRank]:
    """Return the ranks of a job that waits for data in each step."""
    waits = job.step_seconds / STARVED_TO - job.step_seconds
    return [rank._replace(data_seconds=waits) for rank in _run_normally(job)]


def _run_normally(job: SimulatedJob) -> list[SimulatedRank]:
    places = _list_places(job)
    return [
        SimulatedRank(number, len(places), FIRST_PID + number, gpu, job.step_seconds, 1.0, 1.0, 0.0)
        for number, (_, gpu) in enumerate(places)
    ]


def _build_session(
    scenario: Scenario, job: SimulatedJob, minutes: float, *, duration_ms: int = SHORT_MS, iterations: int = 0
) -> TraceSession:
    """Return a session as the job's user would have started it."""
    name = f"{job.name}-{job.id}"
    ranks = [
        RankTrace(
            node=node,
            pid=FIRST_PID + number,
            inner_pid=FIRST_PID + number,
            uid=FIRST_UID,
            user=job.user,
            rank=number,
            path=f"/tmp/vigie_trace_{name}.json",  # noqa: S108 - where libkineto writes
        )
        for number, (node, _) in enumerate(_list_places(job))
    ]
    return TraceSession(
        id=name,
        owner=job.user,
        created_ms=scenario.at(minutes),
        selection=TraceSelection(job=job.id),
        switches=TraceSwitches(),
        duration_ms=duration_ms,
        iterations=iterations,
        start_ms=0 if iterations else scenario.at(minutes) + 16_000,
        state=states.DONE,
        ranks=ranks,
    )


def _write_files(library: TraceLibrary, session: TraceSession, ranks: Sequence[SimulatedRank]) -> None:
    """Write each rank's file and what an analysis says of it, as the server does once it is collected."""
    library.save(session)
    summaries = {}
    for trace, rank in zip(session.ranks, ranks, strict=True):
        packed = build_trace(rank, session.start_ms, session.duration_ms / 1000, f"{session.id}/{rank.rank}")
        library.trace_path(session.id, trace.label).write_bytes(packed)
        summary = summaries[rank.rank] = summarize_trace(io.BytesIO(packed))
        library.save_summary(session.id, trace.label, summary)
        trace.state, trace.note = states.COLLECTED, verify_summary(summary, session)
        trace.size_bytes = trace.collected_bytes = len(packed)
    comparison = compare_ranks(summaries)
    session.verdict = comparison.sentence
    library.save_comparison(session.id, comparison)
    library.save(session)


def _build_hung(scenario: Scenario, job: SimulatedJob) -> TraceSession:
    """Return a session by iterations of a job that does not step: no rank ever writes its file."""
    session = _build_session(scenario, job, HANG_AT, iterations=ITERATIONS)
    session.state = states.FAILED
    for rank in session.ranks:
        rank.state, rank.reason = states.MISSING, describe_missing(states.TRACING)
    return session
