"""Whom cgroups are made for, from paths as the runtimes and Slurm's versions make them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.workload.cgroup import NOBODY, CgroupOwner, identify, identify_process, parse_paths

A, B = "a1" * 32, "b2" * 32
UID = "0a1b2c3d-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        (f"/docker/{A}", CgroupOwner("docker", A)),
        (f"/system.slice/docker-{A}.scope", CgroupOwner("docker", A)),
        (f"/system.slice/docker-{A}.scope/init.scope", CgroupOwner("docker", A)),
        (f"/my-team/{A}", CgroupOwner("docker", A)),  # --cgroup-parent
        (f"/libpod_parent/libpod-{A}", CgroupOwner("podman", A)),
        (f"/libpod_parent/{B}/libpod-{A}", CgroupOwner("podman", A)),  # in a pod of Podman
        (f"/machine.slice/libpod-{A}.scope/container", CgroupOwner("podman", A)),
        (
            f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{A}.scope",
            CgroupOwner("podman", A),
        ),
        (f"/kubepods/burstable/pod{UID}/{A}", CgroupOwner("", A, UID)),
        (
            "/kubepods.slice/kubepods-burstable.slice/"
            f"kubepods-burstable-pod{UID.replace('-', '_')}.slice/cri-containerd-{A}.scope",
            CgroupOwner("containerd", A, UID),
        ),
        (
            f"/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/crio-{A}.scope",
            CgroupOwner("cri-o", A, UID),
        ),
        (
            "/slurm/uid_2001/job_17/step_batch/task_0",
            CgroupOwner(job="17", step="batch", uid="2001"),
        ),
        ("/slurm_n1/uid_2001/job_2/step_0", CgroupOwner(job="2", step="0", uid="2001", slurmd="n1")),
        (
            "/system.slice/slurmstepd.scope/job_1/step_0/user/task_special",
            CgroupOwner(job="1", step="0"),
        ),
        (
            "/system.slice/n1_slurmstepd.scope/job_1/step_extern/user",
            CgroupOwner(job="1", step="extern", slurmd="n1"),
        ),
        (
            "/system.slice/n1_slurmstepd.scope/sESXM7Q1E4QN00/step_0/user/task_special",
            CgroupOwner(sluid="sESXM7Q1E4QN00", step="0", slurmd="n1"),
        ),
        (
            f"/system.slice/slurmstepd.scope/job_9/step_0/user/task_0/libpod-{A}.scope",
            CgroupOwner("podman", A, job="9", step="0"),
        ),
    ],
)
def test_path_tells_whom_it_was_made_for(path: str, owner: CgroupOwner) -> None:
    assert identify(path) == owner


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/system.slice/ssh.service",
        f"/libpod_parent/{B}",  # a pod of Podman is no container
        f"/machine.slice/libpod-conmon-{A}.scope",  # nor is what watches one
        "/system.slice/slurmstepd.scope",
        "/system.slice/slurmd.service",
        "/home/job_17",  # not below Slurm's own
        "/system.slice/docker-1234.scope",
        "/default/c1",  # only containerd knows
    ],
)
def test_other_cgroups_are_nobodys(path: str) -> None:
    assert not identify(path)


def test_deepest_match_of_any_controller_counts() -> None:
    text = (
        "9:name=systemd:/\n6:freezer:/slurm_n1/uid_2001/job_2/step_0\n"
        "4:memory:/slurm_n1/uid_2001/job_2/step_0/task_1\n3:cpuset:/\n0::/\n"
    )
    assert identify_process(text) == CgroupOwner(job="2", step="0", uid="2001", slurmd="n1")
    inner = f"1:cpu:/slurm/uid_1/job_3/step_0\n2:memory:/docker/{A}\n"
    assert identify_process(inner) == CgroupOwner("docker", A, job="3", step="0", uid="1")


def test_deleted_cgroup_still_tells() -> None:
    assert identify_process(f"0::/docker/{A} (deleted)\n").container == A


@given(st.text(alphabet="0123456789abcdef:/_-.\n jobstepuidlrmcope", max_size=300))
def test_any_text_gives_an_owner_and_no_error(text: str) -> None:
    assert isinstance(identify_process(text), CgroupOwner)
    assert all(path.startswith("/") for path in parse_paths(text))


def test_nothing_is_nobodys() -> None:
    assert identify_process("") == NOBODY
