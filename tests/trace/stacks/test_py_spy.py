"""Stacks of a real process by the real py-spy, and what its failures say."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.trace.stacks.py_spy import StackError, decode_dump, dump_stacks, find_py_spy
from vigie.trace.stacks.wait_state import read_wait_state

PROGRAM = """
import sys
def read_shard():
    print("ready", flush=True)
    sys.stdin.read()
read_shard()
"""


@pytest.fixture
def hung() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with process:
        yield process
        process.kill()


@pytest.mark.process
def test_stack_of_a_hung_process_is_read_outermost_first(hung: subprocess.Popen[str]) -> None:
    [thread] = asyncio.run(dump_stacks(hung.pid))
    assert [frame.function for frame in thread.frames] == ["<module>", "read_shard"]
    assert read_wait_state(hung.pid, hung.pid, "x86_64")[0] == "S"


@pytest.mark.process
def test_process_that_has_ended_is_said() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with pytest.raises(StackError, match="ended"):
        asyncio.run(dump_stacks(ended.pid))


def test_missing_program_is_said_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(StackError, match="pip install"):
        find_py_spy()


@given(st.one_of(st.binary(max_size=100), st.just(b"[]"), st.just(b'[{"frames": []}]')))
def test_garbage_is_an_error_or_nothing(output: bytes) -> None:
    try:
        decode_dump(output)
    except StackError:
        return


def test_state_of_a_thread_that_is_gone_is_empty(tmp_path: Path) -> None:
    assert read_wait_state(1, 1, "x86_64", str(tmp_path)) == ("", "")
