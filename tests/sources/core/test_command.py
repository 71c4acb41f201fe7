"""Programs are run without a shell, within a deadline, and what they print is bounded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.real.waiting import until
from vigie.sources.core.command import MAX_LINE, CommandError, run_command

HERE = {"PATH": os.environ["PATH"]}


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_lines_come_as_they_are_printed_and_nothing_is_read_by_a_shell() -> None:
    assert list(run_command(["printf", "%s\\n", "a b", "$HOME;x", "last"], HERE, 20)) == [
        "a b",
        "$HOME;x",
        "last",
    ]


def test_failure_says_what_the_program_said() -> None:
    with pytest.raises(CommandError, match="failed with 3: it is down"):
        list(
            run_command(
                program("import sys; print('x'); sys.exit(print('it is down', file=sys.stderr) or 3)"),
                HERE,
                20,
            )
        )


HANGS = """
import subprocess, sys, time
child = subprocess.Popen(["sleep", "600"])
print(child.pid, flush=True)
time.sleep(600)
"""


def test_one_that_hangs_is_ended_with_all_that_it_started() -> None:
    running = run_command(program(HANGS), HERE, 2)
    state = Path(f"/proc/{next(running)}/stat")
    with pytest.raises(CommandError, match="timed out after 2s"):
        next(running)
    until(lambda: not state.exists() or " Z " in state.read_text(), "the child has ended")


def test_endless_output_and_endless_lines_are_refused() -> None:
    with pytest.raises(CommandError, match="too much"):
        list(run_command(program("while True: print('x' * 1000)"), HERE, 60, limit=1 << 20))
    with pytest.raises(CommandError, match="too much"):
        list(run_command(program(f"import sys; sys.stdout.write('x' * {4 * MAX_LINE})"), HERE, 60))


def test_program_that_is_not_there_is_an_os_error() -> None:
    with pytest.raises(OSError, match="No such file"):
        list(run_command(["/nowhere/scontrol"], HERE, 5))


def test_whoever_stops_reading_leaves_nothing_running() -> None:
    running = run_command(
        program("import os, time; print(os.getpid(), flush=True); time.sleep(600)"), HERE, 60
    )
    pid = int(next(running))
    running.close()  # type: ignore[attr-defined]
    assert not Path(f"/proc/{pid}").exists()
