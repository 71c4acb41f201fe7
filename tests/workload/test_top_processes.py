"""The processes that matter: chosen, counted, and bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from tests.workload.processes import BOOT, ScriptedGpus, machine, process
from vigie.model import format_series
from vigie.sources.core.driver import GpuProcess
from vigie.sources.core.host import Host
from vigie.workload.top_processes import SOURCE

JOB = ["0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0"]
IDLE = {"cpu": 0, "pages": 10}


def read(host: Host) -> dict[str, float]:
    return {
        format_series(metric, labels): value
        for metric, labels, value in SOURCE.read(host)
        if value is not None
    }


def pids(found: dict[str, float]) -> set[str]:
    return {name.split('"')[1] for name in found if name.startswith("vigie_process_threads")}


def test_process_on_a_gpu_is_told_with_what_it_uses_and_for_whom(tmp_path: Path) -> None:
    one = process(7, uid=2001, cgroup=JOB, environ={"GENV_ENVIRONMENT_ID": "42"}, start=60)
    host = machine(tmp_path, one)
    host.nvml = cast("Any", ScriptedGpus([GpuProcess(7, 1)], [], [GpuProcess(7, 1)]))
    who = 'pid="7",name="python",user="alice"'
    more = 'command="python3 train.py",gpu="0,2",job_id="17",environment="42"'
    assert read(host) == {
        f"vigie_process_info{{{who},{more}}}": 1,
        f"vigie_process_cpu_seconds_total{{{who}}}": 3.0,
        f"vigie_process_resident_memory_bytes{{{who}}}": 5000 * 4096,
        f"vigie_process_read_bytes_total{{{who}}}": 4096,
        f"vigie_process_written_bytes_total{{{who}}}": 8192,
        f"vigie_process_threads{{{who}}}": 3,
        f"vigie_process_start_time_seconds{{{who}}}": BOOT + 60,
        f"vigie_process_state{{{who}}}": 1,
    }


def test_those_of_jobs_and_top_consumers_are_chosen_and_others_not(tmp_path: Path) -> None:
    small = [process(pid, **cast("Any", IDLE)) for pid in range(100, 120)]
    host = machine(tmp_path, *small, process(7, pages=90_000, cpu=0), process(8, cgroup=JOB, cpu=0, pages=10))
    found = read(host)
    assert {"7", "8"} <= pids(found)
    assert len(pids(found)) <= 2 + 5, "five by CPU time at most besides"


def test_number_of_processes_is_bounded_and_gpus_come_first(tmp_path: Path) -> None:
    many = [process(pid, cgroup=JOB) for pid in range(100, 140)]
    host = machine(tmp_path, *many, process(7, cpu=0, pages=10), max_processes="10")
    host.nvml = cast("Any", ScriptedGpus([GpuProcess(7, 1)]))
    found = pids(read(host))
    assert len(found) == 10
    assert "7" in found


def test_process_that_ends_is_gone_and_its_series_with_it(tmp_path: Path) -> None:
    host = machine(tmp_path, process(7, cgroup=JOB), process(8, cgroup=JOB))
    assert pids(read(host)) == {"7", "8"}
    (tmp_path / "proc/8/stat").unlink()
    assert pids(read(host)) == {"7"}


def test_whole_commands_are_told_when_asked_for(tmp_path: Path) -> None:
    host = machine(tmp_path, process(7, cgroup=JOB), commands="all")
    (told,) = [name for name in read(host) if name.startswith("vigie_process_info")]
    assert "--token ***" in told
    assert "hunter2" not in told


def test_disk_use_that_may_not_be_read_is_noted(tmp_path: Path) -> None:
    host = machine(tmp_path, process(7, cgroup=JOB), "-- proc/7/io ! EACCES --\n")
    assert not any("bytes_total" in name for name in read(host))
    assert "disk use of processes" in host.notes
