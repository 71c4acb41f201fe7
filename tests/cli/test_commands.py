from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vigie.cli import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert "example" in said
    assert f"vigie {command}" in said


def test_no_command_and_an_unknown_one_are_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["agnet"]) == 2
    assert "did you mean agent?" in capsys.readouterr().err


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
        (["--cadence", "0.1"], "flag: agent.cadence = '0.1' should be between 1 and 60 seconds"),
        (["--sources", "cpuu"], "there is no source 'cpuu'"),
        (["--listen", "nowhere"], "such as 127.0.0.1:9797"),
        (["--option", "textfile.nothing=1"], "there is no textfile.nothing"),
        (["--option", "textfile"], "should be SOURCE.NAME=VALUE"),
        (["--option", "netdev.exclude=("], "source.netdev.exclude = '(' should be a regular expression"),
        (["--option", "filesystem.deadline=soon"], "should be a number of seconds"),
        (["--config", "/nonexistent/vigie.toml"], "/nonexistent/vigie.toml: there is no such file"),
        (["--replay", "/nonexistent"], "vigie agent --record makes one"),
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
    assert (
        f"source loadavg: unavailable: {tmp_path}/loadavg is not on this machine" in capsys.readouterr().err
    )


@pytest.mark.process
def test_reader_that_leaves_early_is_no_failure() -> None:
    command = f"{sys.executable} -m vigie agent --once | head -1; exit ${{PIPESTATUS[0]}}"
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
    assert "works (" in said
    assert "loadavg" in said
    assert "not here" in said
