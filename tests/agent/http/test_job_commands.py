"""Naming a job over the agent's socket: who may, and what is refused."""

from __future__ import annotations

import asyncio
import os
import pwd
from pathlib import Path
from urllib.parse import urlencode

import pytest

from vigie.agent.http.job_commands import JobCommands
from vigie.agent.http.server import Request, Response
from vigie.agent.http.unix_socket import UnixPeer
from vigie.agent.manual_jobs import ManualJobs
from vigie.simulation.clock import SimulatedClock

OWNER = UnixPeer(os.geteuid())
OTHER = next(one for one in pwd.getpwall() if one.pw_uid not in (0, os.geteuid()))
USER = UnixPeer(OTHER.pw_uid)


@pytest.fixture
def jobs(tmp_path: Path) -> ManualJobs:
    return ManualJobs(tmp_path / "jobs.json", SimulatedClock())


def send(jobs: ManualJobs, peer: UnixPeer, do: str, **given: str) -> Response:
    return asyncio.run(JobCommands(jobs).answer(Request(f"/jobs/{do}", urlencode(given), {}), peer))


def test_owner_sets_and_clears_anybodys_job(jobs: ManualJobs) -> None:
    assert (
        send(jobs, OWNER, "set", id="4711", gpus="0,1", user="ada").body
        == b"job 4711 has GPU 0,1, user ada\n"
    )
    assert [one.resource for one in jobs.bindings()] == ["gpu:0", "gpu:1"]
    assert send(jobs, OWNER, "clear", id="4711").status == 200
    assert jobs.bindings() == []
    assert send(jobs, OWNER, "clear", id="4711").status == 404


def test_user_sets_and_clears_only_his_own(jobs: ManualJobs) -> None:
    assert send(jobs, USER, "set", id="1", gpus="0").status == 200
    assert jobs.bindings()[0].user == OTHER.pw_name
    assert send(jobs, USER, "set", id="2", user="root").status == 403
    send(jobs, OWNER, "set", id="3", user="root")
    assert send(jobs, USER, "clear", id="3").status == 403
    assert send(jobs, USER, "set", id="3").status == 403, "nor may one take another's job over"
    assert send(jobs, USER, "clear", id="1").status == 200


def test_caller_without_a_name_may_set_nothing(jobs: ManualJobs) -> None:
    assert send(jobs, UnixPeer(54_321_987), "set", id="1").status == 403


@pytest.mark.parametrize(
    "given",
    [
        {"id": ""},
        {"id": "a b"},
        {"id": "x" * 65},
        {"id": "1", "gpus": "GPU-1"},
        {"id": "1", "gpus": ",".join(["1"] * 65)},
        {"id": "1", "user": "a\nb"},
    ],
)
def test_what_is_no_job_gpu_or_user_is_refused(jobs: ManualJobs, given: dict[str, str]) -> None:
    assert send(jobs, OWNER, "set", **given).status == 400
    assert jobs.bindings() == []
