"""Who holds which GPU: processes, files of a prolog, and what happens when some of it fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

from tests.workload.processes import BOOT, ScriptedGpus, machine, process
from vigie.model import Binding
from vigie.sources.core.driver import GpuProcess
from vigie.sources.core.host import Host
from vigie.sources.core.source import Unavailable
from vigie.workload.gpu_holders import SOURCE

JOB = ["0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0"]


def read(host: Host) -> tuple[dict[tuple[str, str, str], Binding], dict[str, float | None]]:
    host.bindings.clear()
    values = {labels[0]: value for _, labels, value in SOURCE.read(host)}
    return {(one.resource, one.holder_kind, one.holder): one for one in host.bindings}, values


def with_gpus(host: Host, gpus: ScriptedGpus) -> Host:
    host.nvml = cast("Any", gpus)
    return host


def test_each_gpu_is_bound_to_everybody_on_it_since_the_first_process(tmp_path: Path) -> None:
    parts = (
        process(7, uid=2001, cgroup=JOB, start=10),
        process(8, uid=2001, cgroup=JOB, start=5),
        process(9, uid=2002),
    )
    gpus = ScriptedGpus([GpuProcess(7, 1), GpuProcess(8, 1)], [GpuProcess(9, 1)], [])
    found, holders = read(with_gpus(machine(tmp_path, *parts), gpus))
    assert set(found) == {("gpu:0", "job", "17"), ("gpu:1", "user", "bob")}
    assert found["gpu:0", "job", "17"].from_ms == (BOOT + 5) * 1000
    assert holders == {"0": 1, "1": 1, "2": 0}


def test_holder_goes_on_when_its_first_process_ends(tmp_path: Path) -> None:
    gpus = ScriptedGpus([GpuProcess(7, 1), GpuProcess(8, 1)])
    host = with_gpus(
        machine(tmp_path, process(7, cgroup=JOB, start=5), process(8, cgroup=JOB, start=900)), gpus
    )
    read(host)
    gpus.gpus[0] = [GpuProcess(8, 1)]
    assert read(host)[0]["gpu:0", "job", "17"].from_ms == (BOOT + 5) * 1000
    gpus.gpus[0] = []
    assert read(host)[0] == {}


def test_mig_instances_are_a_fact_of_the_gpus_binding(tmp_path: Path) -> None:
    gpus = ScriptedGpus([GpuProcess(7, 1, "2"), GpuProcess(8, 1, "1")])
    found, _ = read(with_gpus(machine(tmp_path, process(7, cgroup=JOB), process(8, cgroup=JOB)), gpus))
    assert found["gpu:0", "job", "17"].facts["instance"] == "1,2"


def test_gpu_that_does_not_answer_is_held_as_before_while_the_process_lives(tmp_path: Path) -> None:
    gpus = ScriptedGpus([GpuProcess(7, 1)])
    host = with_gpus(machine(tmp_path, process(7, uid=2001)), gpus)
    read(host)
    gpus.silent = {0}
    assert set(read(host)[0]) == {("gpu:0", "user", "alice")}
    gpus.silent, gpus.gpus[0] = set(), None  # it answers, and does not tell
    assert set(read(host)[0]) == {("gpu:0", "user", "alice")}
    (tmp_path / "proc/7/stat").unlink()
    assert read(host)[0] == {}


def test_files_of_a_prolog_bind_gpus_that_have_no_process(tmp_path: Path) -> None:
    files = """-- root/run/gpustat/0 --
4711 2001
-- root/run/gpustat/GPU-1 --
4712 2002
-- root/run/gpustat/1.3 --
4713
4713
-- root/run/gpustat/.hidden --
1
-- root/run/gpustat/2 --
../../etc/passwd
-- root/run/gpustat/MIG-0-3 --
4714 2001
"""
    host = with_gpus(machine(tmp_path, files), ScriptedGpus([], []))
    os.utime(tmp_path / "root/run/gpustat/0", (BOOT + 9, BOOT + 9))
    found, holders = read(host)
    assert {key: (one.user, one.facts.get("instance")) for key, one in found.items()} == {
        ("gpu:0", "job", "4711"): ("alice", None),
        ("gpu:1", "job", "4712"): ("bob", None),
        ("gpu:1", "job", "4713"): ("", "3"),
        ("gpu:0", "job", "4714"): ("alice", "3"),
    }
    assert found["gpu:0", "job", "4711"].from_ms == (BOOT + 9) * 1000
    assert holders == {"0": 2, "1": 2}


def test_file_and_process_of_one_job_are_one_binding(tmp_path: Path) -> None:
    files = "-- root/jobs/0 --\n17\n"
    gpus = ScriptedGpus([GpuProcess(7, 1)])
    host = with_gpus(machine(tmp_path, process(7, uid=2001, cgroup=JOB), files, job_files="/jobs"), gpus)
    found, _ = read(host)
    assert [one.user for one in found.values()] == ["alice"]


def test_machine_without_gpus_and_files_says_why_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="driver"):
        list(SOURCE.read(machine(tmp_path)))


def test_a_thousand_jobs_through_one_gpu_leave_the_series_of_the_device_as_they_are(tmp_path: Path) -> None:
    gpus = ScriptedGpus([GpuProcess(7, 1)])
    host = with_gpus(machine(tmp_path, process(7)), gpus)
    series = set()
    for job in range(1000):
        path = tmp_path / "proc/7"
        (path / "cgroup").write_text(f"0::/slurm/uid_2001/job_{job + 1}/step_0\n")
        fields = (path / "stat").read_text().split(" ")
        fields[21] = str(10_000 + job)  # another process of the same number
        (path / "stat").write_text(" ".join(fields))
        found, _ = read(host)
        assert set(found) == {("gpu:0", "job", str(job + 1))}
        series |= {(metric.name, labels) for metric, labels, _ in SOURCE.read(host)}
    assert series == {("vigie_gpu_holders", ("0",))}
    assert len(host.cache["since"]) == 1
