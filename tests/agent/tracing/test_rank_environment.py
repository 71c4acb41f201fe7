"""A process's rank comes from whichever launcher started it."""

from pathlib import Path

import pytest

from vigie.agent.tracing.rank_environment import RankEnvironment, find_job, read_rank_environment


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (b"RANK=3\0WORLD_SIZE=8\0", RankEnvironment(3, 8)),
        (b"SLURM_PROCID=1\0SLURM_NTASKS=4\0", RankEnvironment(1, 4)),
        (b"OMPI_COMM_WORLD_RANK=2\0", RankEnvironment(2)),
        (b"KINETO_ONDEMAND_TRACE_DIR=/scratch\0", RankEnvironment(trace_directory="/scratch")),
        (b"RANK=x\0RANK\0=\0\xff=\xfe", RankEnvironment()),
        (b"", RankEnvironment()),
    ],
)
def test_launcher_s_variable_names_the_rank(
    tmp_path: Path, environment: bytes, expected: RankEnvironment
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "environ").write_bytes(environment)
    assert read_rank_environment(7, str(tmp_path)) == expected


def test_process_that_has_ended_has_none(tmp_path: Path) -> None:
    assert read_rank_environment(7, str(tmp_path)) == RankEnvironment()


@pytest.mark.parametrize(
    ("cgroup", "environment", "job"),
    [
        (
            b"4:memory:/slurm/uid_1000/job_12/step_0\n",
            b"SLURM_JOB_ID=11\0",
            "12",
        ),  # the variable is the leader's
        (b"0::/user.slice\n", b"SLURM_JOB_ID=11\0", "11"),
        (b"0::/user.slice\n", b"", ""),
    ],
)
def test_job_is_the_cgroup_s_before_the_variable_s(
    tmp_path: Path, cgroup: bytes, environment: bytes, job: str
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_bytes(cgroup)
    (tmp_path / "7" / "environ").write_bytes(environment)
    assert find_job(7, str(tmp_path)) == job
