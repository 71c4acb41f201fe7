"""Commands without their arguments, and garbage in the files of a process."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workload.processes import machine, process
from vigie.workload.attribution import Attributor
from vigie.workload.process import read_stat, scrub_arguments


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/usr/bin/python3.11", "-u", "/home/a/train.py", "--key", "s3cret"], "python3.11 train.py"),
        (["python", "-m", "torch.distributed.run", "x.py"], "python -m torch.distributed.run"),
        (["python", "-c", "password = 'x'"], "python -c"),
        (["/opt/bin/solver", "input.dat"], "solver"),
        (["bash", "/scratch/run.sh", "alice"], "bash run.sh"),
        (["python"], "python"),
        ([], ""),
    ],
)
def test_command_is_told_without_arguments(arguments: list[str], told: str) -> None:
    assert scrub_arguments(arguments) == told


def test_whole_commands_leave_out_what_looks_like_a_secret() -> None:
    words = ["run", "--lr=1e-3", "--api-key", "abc", "--token=def", "https://u:pw@host/x", "DB_PASSWORD=xyz"]
    told = scrub_arguments(words, whole=True)
    assert "1e-3" in told
    for secret in ("abc", "def", "pw@", "xyz"):
        assert secret not in told


def test_name_with_brackets_and_blanks_does_not_shift_the_fields(tmp_path: Path) -> None:
    stat = read_stat(machine(tmp_path, process(7, name="a) S (b")), 7)
    assert stat is not None
    assert (stat.name, stat.cpu_ticks, stat.threads, stat.resident_pages) == ("a) S (b", 300, 3, 5000)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(name=st.sampled_from(["stat", "status", "cgroup", "cmdline", "environ"]), text=st.binary(max_size=300))
def test_any_garbage_in_a_file_is_survived(tmp_path: Path, name: str, text: bytes) -> None:
    host = machine(tmp_path, process(7, uid=2001))
    (tmp_path / "proc/7" / name).write_bytes(text)
    for one in Attributor(host).attribute([7]).values():
        list(one.holders())


def test_environment_of_any_size_is_read_to_a_bound(tmp_path: Path) -> None:
    host = machine(tmp_path, process(7))
    with (tmp_path / "proc/7/environ").open("wb") as file:
        file.write(b"GENV_ENVIRONMENT_ID=5\0")
        file.truncate(1 << 30)
    assert Attributor(host).attribute([7])[7].environment == "5"
