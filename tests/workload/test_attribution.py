"""Whom processes run for: recorded processes of Slurm's versions, runtimes, Apptainer and genv."""

from __future__ import annotations

import json
from pathlib import Path

from tests.workload.processes import BOOT, machine, process
from vigie.workload.attribution import Attribution, Attributor

A = "a1" * 32
SLUID, OTHER = "sESXM7Q1E4T600", "sESXM7Q1E4T601"


def attribute(directory: Path, *parts: str, pid: int = 7) -> Attribution:
    return Attributor(machine(directory, *parts)).attribute([pid])[pid]


def kinds(one: Attribution) -> dict[str, str]:
    return {holder.kind: holder.name for holder in one.holders()}


def test_plain_process_is_its_users(tmp_path: Path) -> None:
    one = attribute(tmp_path, process(7, uid=2001, start=60))
    assert kinds(one) == {"user": "alice"}
    assert one.process.start_ms == (BOOT + 60) * 1000
    assert one.process.command == "python3 train.py", "a token must not be told"


def test_process_in_container_job_and_environment_of_a_user_is_attributed_to_all_four(tmp_path: Path) -> None:
    environ = {"SLURM_JOB_ID": "17", "SLURM_JOB_NAME": "llm", "GENV_ENVIRONMENT_ID": "42"}
    path = f"0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0/docker-{A}.scope"
    one = attribute(tmp_path, process(7, uid=2002, cgroup=[path], environ=environ))
    assert kinds(one) == {"job": "17", "container": A[:12], "environment": "42"}
    assert {holder.user for holder in one.holders()} == {"bob"}
    assert {holder.kind: holder.facts for holder in one.holders()}["job"] == {"name": "llm"}


def test_root_inside_a_container_of_a_job_is_the_jobs_user(tmp_path: Path) -> None:
    path = f"4:memory:/slurm/uid_2001/job_3/step_0/task_0/{A}"
    assert attribute(tmp_path, process(7, uid=0, cgroup=[path])).user == "alice"


def test_heterogeneous_rank_belongs_to_its_cgroups_job_not_to_its_variables(tmp_path: Path) -> None:
    path = "6:freezer:/slurm_n1/uid_2001/job_6/step_0"
    one = attribute(tmp_path, process(7, uid=2001, cgroup=[path], environ={"SLURM_JOB_ID": "5"}))
    assert (one.job, one.step) == ("6", "0")


def test_job_without_cgroups_is_told_by_its_variables(tmp_path: Path) -> None:
    environ = {"SLURM_JOB_ID": "12", "SLURM_STEP_ID": "0", "SLURM_JOB_GPUS": "3", "CUDA_VISIBLE_DEVICES": "0"}
    one = attribute(tmp_path, process(7, uid=2001, environ=environ))
    assert (one.job, one.step, one.user) == ("12", "0", "alice")
    assert "CUDA_VISIBLE_DEVICES" not in one.process.variables


def test_sluid_becomes_a_number_when_a_process_of_it_tells_it(tmp_path: Path) -> None:
    path = f"0::/system.slice/n2_slurmstepd.scope/{SLUID}/step_0/user/task_special"
    told = {"SLURM_JOB_ID": "4", "SLURM_JOB_SLUID": SLUID}
    parts = process(7, cgroup=[path], uid=2002, environ=told), process(8, cgroup=[path], uid=2002)
    found = Attributor(machine(tmp_path, *parts)).attribute([7, 8])
    assert (found[7].job, found[8].job) == ("4", "4")


def test_rank_with_the_sluid_of_another_component_is_not_given_to_that_one(tmp_path: Path) -> None:
    path = f"0::/system.slice/n1_slurmstepd.scope/{OTHER}/step_0/user/task_special"
    told = {"SLURM_JOB_ID": "4", "SLURM_JOB_SLUID": SLUID}
    assert attribute(tmp_path, process(7, cgroup=[path], uid=2002, environ=told)).job == ""


def test_apptainer_is_told_by_its_variables_as_it_has_no_cgroup(tmp_path: Path) -> None:
    environ = {"APPTAINER_NAME": "torch.sif", "APPTAINER_CONTAINER": "/images/torch.sif"}
    one = attribute(tmp_path, process(7, uid=2001, environ=environ))
    assert kinds(one) == {"container": "torch.sif"}
    assert one.container
    assert (one.container.runtime, one.container.image) == ("apptainer", "/images/torch.sif")


def test_kubernetes_pod_is_named_by_what_containerd_has_written(tmp_path: Path) -> None:
    uid = "0a1b2c3d-1111-2222-3333-444455556666"
    notes = {
        "sandbox-name": "train-0",
        "sandbox-namespace": "ml",
        "container-name": "main",
        "image-name": "torch:2",
    }
    spec = json.dumps({"annotations": {f"io.kubernetes.cri.{name}": text for name, text in notes.items()}})
    place = f"root/run/containerd/io.containerd.runtime.v2.task/k8s.io/{A}/config.json"
    parts = process(7, cgroup=[f"0::/kubepods/burstable/pod{uid}/{A}"]), f"-- {place} --\n{spec}\n"
    one = attribute(tmp_path, *parts)
    assert kinds(one) == {"container": "ml/train-0/main", "pod": "ml/train-0"}
    assert one.container
    assert one.container.image == "torch:2"


def test_pod_without_a_name_keeps_its_uid(tmp_path: Path) -> None:
    uid = "0a1b2c3d-1111-2222-3333-444455556666"
    one = attribute(tmp_path, process(7, cgroup=[f"0::/kubepods/pod{uid}/{A}"]))
    assert kinds(one) == {"container": A[:12], "pod": uid}


def test_unreadable_environment_is_noted_and_the_rest_is_told(tmp_path: Path) -> None:
    host = machine(tmp_path, process(7, uid=2001), "-- proc/7/environ ! EACCES --\n")
    assert kinds(Attributor(host).attribute([7])[7]) == {"user": "alice"}
    assert "environments of other users" in host.notes


def test_process_that_has_ended_is_left_out_and_its_number_may_be_anothers(tmp_path: Path) -> None:
    host = machine(tmp_path, process(7, uid=2001, start=10))
    attributor = Attributor(host)
    assert attributor.attribute([7, 99])[7].user == "alice"
    machine(tmp_path, process(7, uid=2002, start=500))
    assert attributor.attribute([7])[7].user == "bob"


def test_user_without_a_name_is_a_number(tmp_path: Path) -> None:
    assert attribute(tmp_path, process(7, uid=54321)).user == "54321"
