from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources import processes
from vigie.sources.core.host import Host, HostRoots
from vigie.sources.core.replay import unpack
from vigie.sources.core.tree import FileBudget
from vigie.sources.processes import SOURCE


def _stat(pid: int, name: str, state: str, threads: int, path: str = "") -> str:
    fields = f"{state} 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 1203 0 0"
    return f"-- proc/{path or pid}/stat --\n{pid} ({name}) {fields}\n"


MACHINE = (
    _stat(1, "systemd", "S", 1)
    + _stat(20, "kworker/0:1-ev ents", "I", 1)
    + _stat(300, "evil) Z 1 1 (", "R", 3)
    + _stat(300, "evil", "R", 3, "300/task/300")
    + _stat(301, "evil", "D", 3, "300/task/301")
    + _stat(302, "evil", "S", 3, "300/task/302")
    + "-- proc/sys/kernel/threads-max --\n1000\n-- proc/sys/kernel/pid_max --\n32768\n"
    + "-- proc/meminfo --\n-- proc/self/stat --\n"
)
COUNTS = {
    "node_processes_max_threads": 1000,
    "node_processes_max_processes": 32768,
    "node_processes_pids": 3,
    "node_processes_threads": 5,
    'node_processes_state{state="I"}': 1,
    'node_processes_state{state="R"}': 1,
    'node_processes_state{state="S"}': 1,
    'node_processes_threads_state{thread_state="D"}': 1,
    'node_processes_threads_state{thread_state="I"}': 1,
    'node_processes_threads_state{thread_state="R"}': 1,
    'node_processes_threads_state{thread_state="S"}': 2,
}


def test_processes_and_threads_are_counted_by_state(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(MACHINE)) == COUNTS


def test_process_that_ended_or_makes_no_sense_is_not_counted(machine: Machine, samples: Samples) -> None:
    gone = "-- proc/4/ --\n-- proc/5/stat/ --\n-- proc/6/stat --\n-- proc/7/stat --\n7 (cut sho\n"
    host = machine(MACHINE + gone + "-- proc/8/stat --\n8 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 x 0\n")
    assert samples(SOURCE, host) == COUNTS
    assert host.notes == {}


def test_files_of_processes_are_not_kept_open(tmp_path: Path) -> None:
    unpack(MACHINE, str(tmp_path))
    budget = FileBudget(10)
    host = Host(HostRoots(*(str(tmp_path / name) for name in HostRoots._fields)), budget=budget)
    for _ in range(2):
        list(SOURCE.read(host))
        host.end_read()
        assert budget.left == 8  # the two limits
    host.close()


def test_too_many_threads_are_counted_but_not_looked_at(
    machine: Machine, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MAX_PROCESSES", 4)
    host = machine(MACHINE)
    found = samples(SOURCE, host)
    assert found["node_processes_threads"] == 5
    assert not any("threads_state" in series for series in found)
    assert list(host.notes) == ["/proc"]


def test_too_many_processes_are_counted_but_not_looked_at(
    machine: Machine, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MAX_PROCESSES", 2)
    host = machine(MACHINE)
    found = samples(SOURCE, host)
    assert found["node_processes_pids"] == 3
    assert "node_processes_threads" not in found
    assert list(host.notes) == ["/proc"]
