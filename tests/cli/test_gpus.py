"""vigie gpus where no agent answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from vigie.cli import main


def test_gpus_without_an_agent_says_what_to_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpus", "release", f"--data={tmp_path}"]) == 1
    assert "Run `vigie agent`, or set --node NODE for another node" in capsys.readouterr().err
