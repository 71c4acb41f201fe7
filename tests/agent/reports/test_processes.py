from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.sources import reading, steady
from vigie.agent.gpu_processes import gpu_memory_of_processes
from vigie.agent.reports.datagram import MOST_NAMES, InvalidReportError, Report, Sender
from vigie.agent.reports.processes import (
    BURST,
    MOST_OF_USER,
    MOST_PROCESSES,
    PER_SECOND,
    Identity,
    ProcessGoneError,
    ReportingProcess,
    ReportingProcesses,
    identify,
)
from vigie.model import Sample
from vigie.sources import _gpu
from vigie.sources.core.host import Host


class Machine:
    """Processes that begin and end, and a clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.started: dict[int, str] = {}
        self.job = ""
        self.processes = ReportingProcesses(self.look, lambda: self.now)

    def look(self, pid: int) -> Identity:
        if pid not in self.started:
            raise ProcessGoneError(pid)
        return self.started[pid], self.job

    def take(self, pid: int, uid: int = 1000, job: str = "", **values: float) -> None:
        self.take_all(pid, values, uid, job)

    def take_all(self, pid: int, values: dict[str, float], uid: int = 1000, job: str = "") -> None:
        self.started.setdefault(pid, "1")
        self.processes.take(Sender(pid, uid), Report(values, job_id=job))

    def alive(self) -> list[ReportingProcess]:
        return self.processes.alive({})


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_last_value_of_each_name_stands_until_the_process_ends(machine: Machine) -> None:
    machine.take(7, loss=2.0)
    machine.take(7, loss=1.5, step=3)
    assert [process.values for process in machine.alive()] == [{"loss": 1.5, "step": 3}]

    del machine.started[7]
    assert machine.alive() == []


def test_process_that_got_the_number_of_another_does_not_get_its_values(machine: Machine) -> None:
    machine.take(7, loss=2.0)
    machine.started[7] = "2"
    assert machine.alive() == []


def test_job_of_the_cgroup_goes_before_the_one_that_a_process_claims(machine: Machine) -> None:
    machine.job = "4711"
    machine.take(7, job="1", loss=1)
    machine.job = ""
    machine.take(8, job="4712", loss=1)

    assert [process.job_id for process in machine.alive()] == ["4711", "4712"]


def test_names_beyond_fifty_are_refused_and_known_ones_go_on(machine: Machine) -> None:
    machine.take_all(7, {f"n{i}": float(i) for i in range(MOST_NAMES)})
    with pytest.raises(InvalidReportError, match="50 names"):
        machine.take(7, another=1)
    machine.take(7, n0=9)

    assert machine.alive()[0].values["n0"] == 9
    assert len(machine.alive()[0].values) == MOST_NAMES


def test_datagrams_beyond_the_rate_are_refused_until_time_has_passed(machine: Machine) -> None:
    for step in range(int(BURST)):
        machine.take(7, step=step)
    with pytest.raises(InvalidReportError, match="a second"):
        machine.take(7, step=1000)
    machine.now += 1.5 / PER_SECOND
    machine.take(7, step=1001)

    assert machine.alive()[0].values["step"] == 1001


def test_one_user_cannot_take_the_room_of_all(machine: Machine) -> None:
    for pid in range(1, MOST_OF_USER + 1):
        machine.take(pid, uid=1, x=1)
    with pytest.raises(InvalidReportError, match="of one user"):
        machine.take(9999, uid=1, x=1)
    machine.take(10_000, uid=2, x=1)
    for pid in range(20_000, 20_000 + MOST_PROCESSES - MOST_OF_USER - 1):
        machine.take(pid, uid=pid, x=1)
    with pytest.raises(InvalidReportError, match="processes report"):
        machine.take(30_000, uid=3, x=1)

    del machine.started[1]
    machine.alive()
    machine.take(30_000, uid=3, x=1)


def test_process_that_has_ended_already_is_refused(machine: Machine) -> None:
    with pytest.raises(InvalidReportError, match="has ended"):
        machine.processes.take(Sender(7, 1000), Report({"x": 1.0}))


def test_this_process_is_identified_and_a_missing_one_is_not(tmp_path: Path) -> None:
    assert identify(os.getpid()) == identify(os.getpid())
    with pytest.raises(ProcessGoneError):
        identify(0)

    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "stat").write_text("5 (a) b) S " + " ".join(str(i) for i in range(4, 30)))
    (tmp_path / "5" / "cgroup").write_text("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n")
    assert identify(5, str(tmp_path)) == ("22", "4711")


def test_gpu_of_a_process_is_the_one_where_it_holds_most(machine: Machine) -> None:
    def read(_: Host) -> Iterator[Sample]:
        for gpu, held in (("0", 400e6), ("3", 7e9)):
            yield _gpu.PROCESS_MEMORY, (gpu, f"GPU-{gpu}", "nvidia", "H100", "7", ""), held

    source = reading(steady("nvidia_processes")._replace(metrics=(_gpu.PROCESS_MEMORY,), read=read))
    source.read()
    memory = gpu_memory_of_processes([source, reading(steady("other"))])
    assert memory == {"7": {"0": 400e6, "3": 7e9}}

    machine.take(7, loss=1)
    assert [process.gpu for process in machine.processes.alive(memory)] == ["3"]
    assert [process.gpu for process in machine.processes.alive({})] == ["3"]  # it has not moved
