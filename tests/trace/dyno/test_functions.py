"""What dynolog's calls answer, case by case."""

import asyncio
from typing import Any

import pytest

from tests.trace.dyno.test_server import Profiling
from vigie.trace.dyno.functions import DynoFunctions
from vigie.trace.kineto.datagrams import Poll
from vigie.trace.kineto.trainers import TrainerRegistry

TRACE = "setKinetOnDemandRequest"
WIDE_JOB = 1 << 40


class Node:
    """An agent's registry with three trainers of two users: a launcher, its rank, and a job of its own."""

    def __init__(self) -> None:
        self.profiling = Profiling()
        self.registry = TrainerRegistry(lambda: 1000.0)
        self.functions = DynoFunctions(
            self.registry, version="1", profiling=self.profiling, wall_clock=lambda: 1_790_000_000.0
        )
        self.registry.record_poll(100, 1000, Poll(2, 7, (100, 90)), b"\0a")
        self.registry.record_poll(101, 1000, Poll(2, 7, (101, 100, 90)), b"\0b")
        self.registry.record_poll(200, 1001, Poll(2, WIDE_JOB, (1,)), b"\0c")

    def call(self, uid: int | None = 0, **request: Any) -> Any:
        return asyncio.run(self.functions.call(request, uid))

    def trace(self, uid: int | None = 0, **request: Any) -> Any:
        return self.call(uid, fn=TRACE, **{"config": "A=1", "pids": [0], "job_id": 7, **request})


def test_job_and_any_pid_or_ancestor_select_trainers() -> None:
    assert Node().trace()["processesMatched"] == [100, 101]
    assert Node().trace(pids=[])["processesMatched"] == [100, 101]
    assert Node().trace(pids=[90])["processesMatched"] == [100, 101]
    assert Node().trace(pids=[101])["processesMatched"] == [101]
    assert Node().trace(job_id=8)["processesMatched"] == []


def test_job_id_wider_than_32_bits_is_matched_whole_and_named_by_the_pid_inside() -> None:
    assert Node().trace(job_id=WIDE_JOB)["processesMatched"] == [1]
    assert Node().trace(job_id=WIDE_JOB & 0xFFFFFFFF)["processesMatched"] == []


def test_limit_leaves_matched_ones_untriggered_and_a_negative_one_is_none() -> None:
    answer = Node().trace(process_limit=1)
    assert (answer["processesMatched"], answer["activityProfilersTriggered"]) == ([100, 101], [100])
    assert Node().trace(process_limit=0)["activityProfilersTriggered"] == []
    assert Node().trace(process_limit=-1)["activityProfilersTriggered"] == [100, 101]


def test_trainer_with_a_config_under_way_is_busy_and_keeps_the_first() -> None:
    node = Node()
    node.trace(pids=[101], config="FIRST=1")
    answer = node.trace(config="SECOND=1")
    assert (answer["activityProfilersBusy"], answer["activityProfilersTriggered"]) == (1, [100])
    trainer = node.registry.get(101)
    assert trainer is not None
    assert trainer.pending is not None
    assert trainer.pending.text.startswith("FIRST=1\nREQUEST_TRACE_ID=")


def test_user_matches_only_own_trainers_and_root_and_let_in_machines_all() -> None:
    assert Node().trace(1000)["processesMatched"] == [100, 101]
    assert Node().trace(1001)["processesMatched"] == []
    assert Node().trace(-1)["processesMatched"] == []
    assert Node().trace(None)["processesMatched"] == [100, 101]


def test_missing_keys_fail_as_dynolog_s() -> None:
    node = Node()
    assert node.call(fn=TRACE, pids=[0]) == {"status": "failed"}
    assert node.call(fn=TRACE, config="A=1") == {"status": "failed"}
    assert node.call(fn="dcgmProfPause") == {"status": "failed"}


@pytest.mark.parametrize(
    "wrong", [{"config": 7}, {"pids": "1,2"}, {"pids": [1.5]}, {"job_id": "7"}, {"process_limit": None}]
)
def test_wrong_types_fail_with_the_exception_named(wrong: dict[str, Any]) -> None:
    assert (
        Node().trace(**wrong)["status"].startswith("failed with exception = [json.exception.type_error.302]")
    )


def test_wrong_type_of_a_pause_is_an_answer_not_the_end_of_the_daemon() -> None:
    assert Node().call(fn="dcgmProfPause", duration_s="long") == {"status": "failed"}


def test_profiling_is_paused_and_resumed_by_root_only() -> None:
    node = Node()
    assert node.call(fn="dcgmProfPause", duration_s=60) == {"status": True}
    assert node.profiling.paused_for == 60
    assert node.call(1000, fn="dcgmProfResume") == {"status": False}
    assert node.call(fn="dcgmProfResume") == {"status": True}
    assert node.profiling.paused_for is None


def test_start_ahead_keeps_a_trainer_busy_until_its_trace_is_over() -> None:
    node = Node()
    config = "PROFILE_START_TIME=1790000016000\nACTIVITIES_DURATION_MSECS=2000"
    node.trace(pids=[101], config=config)
    trainer = node.registry.get(101)
    assert trainer is not None
    assert trainer.pending is not None
    assert trainer.pending.hold_seconds == pytest.approx(16 + 2 + 5)


def test_trainers_are_listed_to_those_who_may_trace_them() -> None:
    node = Node()
    assert [t["pid"] for t in node.call(fn="getTrainers")["trainers"]] == [100, 101, 200]
    assert node.call(1001, fn="getTrainers") == {
        "trainers": [{"pid": 200, "uid": 1001, "job_id": WIDE_JOB, "ancestors": []}]
    }
