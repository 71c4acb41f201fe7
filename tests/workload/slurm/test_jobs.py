"""Job records: what is free text stays text, and garbage is skipped with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workload.slurm.fake import RECORDINGS
from vigie.workload.slurm.jobs import Job, parse_job, parse_jobs
from vigie.workload.slurm.records import InvalidRecordError

LINE = (RECORDINGS / "24.11/jobs.txt").read_text().splitlines()[1]
NAME = "JobName=train-llm"


def named(name: str) -> Job:
    return parse_job(LINE.replace(NAME, f"JobName={name}", 1))


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=80))
def test_any_name_comes_back_as_it_is(name: str) -> None:
    job = named(name)
    assert (job.name, job.user, job.state, job.gpus) == (name, "alice", "RUNNING", 2)


@pytest.mark.parametrize(
    "name", ["x UserId=root(0)", "x JobState=FAILED Reason=y", "a JobName=b", "Command=x WorkDir=/"]
)
def test_name_that_looks_like_a_field_changes_nothing(name: str) -> None:
    job = named(name)
    assert (job.name, job.user, job.state) == (name, "alice", "RUNNING")


def test_user_of_a_record_made_to_mislead_is_left_out() -> None:
    forged = LINE.partition(" UserId=")[2].partition(" Reason=")[0].replace("alice", "mallory")
    job = named(f"x UserId={forged} Reason=None")
    assert (job.user, job.account) == ("", "")


@pytest.mark.parametrize(
    "line", ["", "slurm_load_jobs error: x", "JobId=5", "JobId=5 JobName=x UserId=", "\x00\xff"]
)
def test_what_is_no_job_is_skipped_and_the_next_is_read(line: str) -> None:
    found = list(parse_jobs([line, LINE]))
    assert isinstance(found[-1], Job)
    assert all(isinstance(one, InvalidRecordError) for one in found[:-1])


@given(st.integers(0, len(LINE)), st.binary(max_size=20))
def test_garbled_line_is_a_job_or_a_reason(place: int, junk: bytes) -> None:
    line = LINE[:place] + junk.decode("latin-1") + LINE[place + len(junk) :]
    assert all(isinstance(one, (Job, InvalidRecordError)) for one in parse_jobs([line]))


def test_unknown_state_runs_where_it_has_nodes_and_waits_where_it_has_none() -> None:
    new = parse_job(LINE.replace("JobState=RUNNING", "JobState=SPARKLING", 1))
    assert (new.has_ended, new.is_pending) == (False, False)
    pending = parse_job(
        LINE.replace("JobState=RUNNING", "JobState=SPARKLING", 1).replace("NodeList=n1 ", "NodeList= ")
    )
    assert pending.is_pending


def test_gpus_are_counted_where_slurm_does_not_track_them() -> None:
    bare = LINE.replace(",gres/gpu=2,gres/gpu:h100=2", "").replace(",gres/gpu=2", "")
    assert parse_job(bare).gpus == 2  # JOB_GRES
    assert parse_job(bare.replace("JOB_GRES=gpu:h100:2", "")).gpus == 2  # TresPerNode of one node
