"""vigie users: accounts of a server, from a terminal, a pipe or a file."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.known import known_secrets
from vigie.cli import main
from vigie.server.auth.secrets import Secrets
from vigie.server.identity import Identity


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Secrets]:
    """Open the secrets of a server that runs meanwhile."""
    with known_secrets("a-token") as opened:
        monkeypatch.setenv("VIGIE_SERVER_DATA", str(opened.admin_file.parent))
        yield opened


def _typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_account_is_added_listed_changed_and_removed(
    secrets: Secrets, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _typed(monkeypatch, "first password\nnot this\n")
    assert main(["users", "add", "ada", "--role", "user"]) == 0
    assert secrets.check("ada", "first password") == Identity("user", "ada")
    assert main(["users", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["role"], row["by"]) for row in rows] == [
        ("ada", "user", "password"),
        ("admin", "admin", "token"),
    ]
    _typed(monkeypatch, "second password\n")
    assert main(["users", "passwd", "ada"]) == 0
    assert secrets.check("ada", "first password") is None
    assert secrets.check("ada", "second password")
    assert main(["users", "remove", "ada"]) == 0
    assert main(["users", "list"]) == 0
    assert "ada" not in capsys.readouterr().out


def test_token_is_printed_once_and_alone(secrets: Secrets, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, role in (
        (["grafana", "--token"], "viewer"),
        (["prometheus", "--role", "writer"], "writer"),
    ):
        assert main(["users", "add", *arguments]) == 0
        said = capsys.readouterr()
        assert secrets.identify(said.out.strip()) == Identity(role, arguments[0])
        assert "shown once" in said.err


def test_password_comes_from_a_file(secrets: Secrets, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from a file\nnot this\n")
    assert main(["users", "passwd", "admin", "--password-file", str(file)]) == 0
    assert secrets.check("admin", "from a file")


@pytest.mark.process
def test_password_is_typed_twice_and_not_shown(secrets: Secrets) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "vigie", "users", "passwd", "admin"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as run:
        os.close(theirs)
        said = b""
        for prompt in (b"Password of admin: ", b"Repeat: "):
            while prompt not in said:
                said += os.read(ours, 1000)
            os.write(ours, b"typed at a terminal\n")
        assert run.wait(60) == 0
    os.close(ours)
    assert b"typed" not in said
    assert secrets.check("admin", "typed at a terminal")


@pytest.mark.parametrize(
    ("arguments", "typed", "why"),
    [
        (["add", "ada"], "", "at least 8"),
        (["add", "ada"], "short\n", "at least 8"),
        (["add", "a b"], "long enough\n", "is no name"),
        (["add", "admin"], "long enough\n", "vigie users passwd admin"),
        (["remove", "admin"], "", "last admin"),
        (["remove", "nobody"], "", "vigie users list"),
        (["passwd", "nobody"], "long enough\n", "vigie users list"),
        (["passwd", "admin", "--password-file", "/nonexistent"], "", "/nonexistent"),
        (["add", "w", "--role", "writer", "--password-file", "/dev/null"], "", "a writer has a token"),
        (["list", "--data", "/nonexistent"], "", "/nonexistent/secrets.db"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    secrets: Secrets,
    arguments: list[str],
    typed: str,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _typed(monkeypatch, typed)
    assert main(["users", *arguments]) == 1
    said = capsys.readouterr()
    assert why in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert [account.name for account in secrets.accounts.every()] == ["admin"]


def test_password_is_never_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["users", "passwd", "admin", "a password"])
    assert end.value.code == 2
