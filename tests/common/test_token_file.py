from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from vigie.common.token_file import scrape_token


def test_token_is_made_once_for_the_owner_alone(tmp_path: Path) -> None:
    token, path = scrape_token(tmp_path / "data")
    assert len(token) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert scrape_token(tmp_path / "data") == (token, path)
    assert [entry.name for entry in path.parent.iterdir()] == ["scrape-token"]


def test_what_a_killed_process_left_half_made_keeps_nobody(tmp_path: Path) -> None:
    (tmp_path / f".scrape-token.{os.getpid()}").touch()  # in a container each process has the same number
    assert len(scrape_token(tmp_path)[0]) >= 32


def test_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    _, path = scrape_token(tmp_path)
    path.chmod(0o644)
    with pytest.raises(PermissionError, match="chmod 600"):
        scrape_token(tmp_path)


def test_empty_token_is_refused(tmp_path: Path) -> None:
    _, path = scrape_token(tmp_path)
    path.write_text("\n")
    with pytest.raises(ValueError, match="is empty"):
        scrape_token(tmp_path)
