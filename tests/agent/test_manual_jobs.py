"""Jobs named by hand: bindings, restarts of agent and machine, and bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.sources import reading
from vigie.agent.bindings import BindingTracker
from vigie.agent.manual_jobs import MAX_JOBS, MAX_USER_JOBS, ManualJobs, TooManyJobsError
from vigie.model import Frame, Sample
from vigie.simulation.clock import SimulatedClock
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source


def jobs(home: Path, boot: str = "b1") -> ManualJobs:
    (home / "boot").write_text(f"{boot}\n")
    return ManualJobs(home / "data" / "jobs.json", SimulatedClock(1000.0), home / "boot")


def test_job_holds_its_gpus_or_the_node(tmp_path: Path) -> None:
    named = jobs(tmp_path)
    assert named.set("17", "ada", ["0", "1", "1"], limited=False) == ""
    named.set("18", "", [], limited=False)
    held = [(one.resource, one.holder_kind, one.holder, one.user, one.source) for one in named.bindings()]
    assert held == [
        ("gpu:0", "job", "17", "ada", "manual"),
        ("gpu:1", "job", "17", "ada", "manual"),
        ("node", "job", "18", "", "manual"),
    ]


def test_jobs_survive_a_restart_of_the_agent_and_not_of_the_machine(tmp_path: Path) -> None:
    jobs(tmp_path).set("17", "ada", ["0"], limited=False)
    again = jobs(tmp_path)
    assert again.bindings() == jobs(tmp_path).bindings() != []
    assert (tmp_path / "data" / "jobs.json").stat().st_mode & 0o777 == 0o600
    again.clear("17")
    assert jobs(tmp_path).bindings() == []
    again.set("19", "ada", [], limited=False)
    assert jobs(tmp_path, "b2").bindings() == []


def test_jobs_are_bounded_for_the_node_and_for_each_user(tmp_path: Path) -> None:
    named = jobs(tmp_path)
    for number in range(MAX_USER_JOBS):
        named.set(f"ada-{number}", "ada", [], limited=True)
    with pytest.raises(TooManyJobsError, match="ada"):
        named.set("one-more", "ada", [], limited=True)
    named.set("ada-0", "ada", ["3"], limited=True)  # a change is not one more
    for number in range(MAX_JOBS - MAX_USER_JOBS):
        named.set(f"root-{number}", "", [], limited=False)
    with pytest.raises(TooManyJobsError):
        named.set("last", "", [], limited=False)
    assert len(jobs(tmp_path).bindings()) == MAX_JOBS


@given(
    st.binary(max_size=200) | st.sampled_from([b'{"boot": "b1", "jobs": [{"id": 1}]}', b"[]", b"[" * 9000])
)
def test_garbage_in_the_file_costs_the_jobs_alone(
    tmp_path_factory: pytest.TempPathFactory, text: bytes
) -> None:
    home = tmp_path_factory.mktemp("jobs")
    (home / "data").mkdir()
    (home / "data" / "jobs.json").write_bytes(text)
    named = jobs(home)
    assert named.bindings() == []
    assert named.set("1", "", [], limited=False) == ""


def test_file_that_cannot_be_written_is_said_and_the_job_is_set(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file is in the way")
    named = jobs(tmp_path)
    assert "data" in named.set("1", "", [], limited=False)
    assert len(named.bindings()) == 1


def test_job_set_by_hand_and_seen_by_a_source_is_one_binding(tmp_path: Path) -> None:
    def read(host: Host) -> list[Sample]:
        host.bind("gpu:0", "job", "17", from_ms=5000, name="llm")
        return []

    reader = reading(Source("seen", (), read))
    reader.read()
    named = jobs(tmp_path)
    named.set("17", "ada", ["0"], limited=False)
    tracker = BindingTracker([reader], [], named.bindings)
    tracker(Frame(2_000_000, ()))
    assert len(tracker.table()[0].series) == 1
    (held,) = tracker._read_sources().values()
    assert (held.user, held.from_ms, dict(held.facts)) == ("ada", 5000, {"name": "llm"})
