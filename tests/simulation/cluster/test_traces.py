"""The demo's traces agree with its incidents, told by the same analysis as real ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from vigie.server.tracing.library import TraceLibrary
from vigie.simulation.cluster.machines import build_machines
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.traces import write_traces
from vigie.wire.api.trace_session import TraceSession

NOW_MS = 1_763_280_000_000
STRAGGLER = 21  # gpu03:5 is the sixth GPU of the third of four nodes


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> TraceLibrary:
    directory = tmp_path_factory.mktemp("demo") / "traces"
    write_traces(Scenario(build_machines(16, 8), NOW_MS, seed=1), directory)
    library = TraceLibrary(directory, max_bytes=1 << 40, max_age_ms=1 << 50)
    library.open()
    return library


def _of_job(library: TraceLibrary, job: str) -> TraceSession:
    return next(session for session in library.sessions() if session.selection.job == job)


def test_throttled_gpu_is_named_as_the_straggler_because_of_compute(library: TraceLibrary) -> None:
    session = _of_job(library, "4211")
    comparison = library.read_comparison(session.id)
    assert comparison is not None
    assert (comparison.slow_rank, comparison.cause) == (STRAGGLER, "compute")
    assert session.ranks[STRAGGLER].node == "gpu03"
    assert session.verdict == comparison.sentence


def test_starved_job_waits_in_its_data_loader_on_all_ranks(library: TraceLibrary) -> None:
    session = _of_job(library, "4222")
    summaries = library.read_summaries(session)
    assert len(summaries) == len(session.ranks) == 8
    assert all(summary.seconds_of("data") > 0.5 * summary.window_seconds for summary in summaries.values())
    assert "in the data loader" in session.verdict


def test_hung_job_steps_no_more_so_its_trace_says_why_no_file_came(library: TraceLibrary) -> None:
    session = _of_job(library, "4219")
    assert session.state == "failed"
    assert {rank.state for rank in session.ranks} == {"missing"}
    assert all("optimizer steps" in rank.reason for rank in session.ranks)


def test_files_have_the_profilers_layout_and_are_as_asked(library: TraceLibrary) -> None:
    for session in library.sessions():
        for rank in session.ranks:
            if rank.state == "collected":
                path = library.trace_path(session.id, rank.label)
                document = json.loads(gzip.decompress(path.read_bytes()))
                assert {"schemaVersion", "traceEvents", "baseTimeNanoseconds", "traceName"} <= set(document)
                assert document["distributedInfo"]["rank"] == rank.rank
                assert rank.note == ""


def test_cluster_without_the_jobs_has_no_traces(tmp_path: Path) -> None:
    write_traces(Scenario(build_machines(1, 1), NOW_MS, seed=1), tmp_path)
    library = TraceLibrary(tmp_path, max_bytes=1 << 40, max_age_ms=1 << 50)
    library.open()
    assert library.sessions() == []
