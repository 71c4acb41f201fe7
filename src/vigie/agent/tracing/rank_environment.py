"""Which rank a process is, of which job, and whose."""

from __future__ import annotations

import pwd
from typing import NamedTuple

from vigie.workload.cgroup import identify_process

MAX_ENVIRONMENT_BYTES = 1 << 20
_RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_WORLD_SIZE = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_TRACE_DIRECTORY = "KINETO_ONDEMAND_TRACE_DIR"


class RankEnvironment(NamedTuple):
    """What the environment says; None where it says nothing, or may not be read."""

    rank: int | None = None
    world_size: int | None = None
    trace_directory: str = ""
    job: str = ""


def read_rank_environment(pid: int, proc: str = "/proc") -> RankEnvironment:
    try:
        with open(f"{proc}/{pid}/environ", "rb") as file:
            text = file.read(MAX_ENVIRONMENT_BYTES)
    except OSError:
        return RankEnvironment()
    variables = dict(pair.split(b"=", 1) for pair in text.split(b"\0") if b"=" in pair)
    return RankEnvironment(
        _first_number(variables, _RANK),
        _first_number(variables, _WORLD_SIZE),
        variables.get(_TRACE_DIRECTORY.encode(), b"").decode(errors="replace"),
        variables.get(b"SLURM_JOB_ID", b"").decode(errors="replace"),
    )


def find_job(pid: int, proc: str = "/proc") -> str:
    """Return the job of a process: its cgroup tells best, the variable may be the leader's."""
    try:
        with open(f"{proc}/{pid}/cgroup", "rb") as file:
            owner = identify_process(file.read(65536).decode(errors="replace"))
    except OSError:
        return ""
    return owner.job or read_rank_environment(pid, proc).job


def _first_number(variables: dict[bytes, bytes], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = variables.get(name.encode(), b"")
        if value.isdigit() and len(value) < 9:
            return int(value)
    return None


def name_user(uid: int) -> str:
    """Return a user's name on this node, or the number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
