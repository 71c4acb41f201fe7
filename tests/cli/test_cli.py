from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vigie.cli import COMMANDS, main

ACTIONS = ("users list", "users add", "users remove", "users passwd", "store check", "store backup")


@pytest.mark.parametrize("command", [*COMMANDS, *ACTIONS])
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert "example" in said
    assert f"vigie {command}" in said


def test_no_command_and_an_unknown_one_are_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["agnet"]) == 2
    assert "Did you mean 'agent'?" in capsys.readouterr().err


def test_version_is_printed_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("vigie ")
    assert main(["version", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"vigie", "python"}


def test_once_prints_the_chosen_sources_and_stops(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "--once", "--sources", "loadavg"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("node_load") for line in lines) == 3
    assert not any("node_cpu" in line for line in lines)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--cadence", "0.1"], "flag: invalid agent.cadence '0.1': use a number between 1 and 60 seconds"),
        (["--sources", "cpuu"], "unknown source 'cpuu'"),
        (["--listen", "nowhere"], "such as 127.0.0.1:9797"),
        (["--option", "textfile.nothing=1"], "unknown textfile.nothing"),
        (["--option", "textfile"], "use SOURCE.NAME=VALUE"),
        (["--option", "netdev.exclude=("], "invalid source.netdev.exclude '(': use a regular expression"),
        (["--option", "filesystem.deadline=soon"], "use a number of seconds"),
        (["--config", "/nonexistent/vigie.toml"], "/nonexistent/vigie.toml: no such file"),
        (["--replay", "/nonexistent"], "To make one: vigie agent --record DIR"),
    ],
)
def test_bad_setting_is_refused_in_one_line(
    flags: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["agent", "--once", *flags]) == 1
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


def test_chosen_source_that_is_not_here_says_why(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["agent", "--once", "--sources", "loadavg", "--procfs", str(tmp_path)]) == 0
    assert f"source loadavg: unavailable: {tmp_path}/loadavg does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("top --every 0", "--every: 0 should be from 1 to 3600 seconds"),
        ("publish DIR --interval soon", "--interval: soon should be from 1 to 3600 seconds"),
        ("events --since yesterday", "--since: invalid duration 'yesterday'"),
        ("events --limit 1001", "--limit: 1001 should be a whole number from 1 to 1000"),
        ("who --limit 0", "--limit: 0 should be a whole number"),
        ("jobs --limit 0", "--limit: 0 should be a whole number"),
        ("gpus release --for ever", "--for: invalid duration 'ever'"),
        ("gpus pause --node n1", "--node: use release or take"),
        ("nodes add", "node missing: vigie nodes add NODE"),
        ("nodes remove", "node missing: vigie nodes remove NODE"),
        ("nodes list n1", "only add and remove take a node"),
    ],
)
def test_bad_usage_is_told_from_a_failure(arguments: str, why: str, bad_usage: Callable[..., str]) -> None:
    assert why in bad_usage(*arguments.split())


@pytest.mark.process
@pytest.mark.parametrize("arguments", ["agent --once", "--help"])
def test_reader_that_leaves_early_is_no_failure(arguments: str) -> None:
    # It is gone before anything is written: else a short text would fit into the pipe.
    command = f"{sys.executable} -m vigie {arguments} | true; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0
    assert run.stderr == ""


def test_help_imports_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; from vigie.cli import main; main(['--help']); sys.exit('asyncio' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr


def test_doctor_says_what_works_and_what_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "Working (" in said
    assert "loadavg" in said
    assert "Not available" in said
