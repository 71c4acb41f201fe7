"""Commands find the server of their machine, whatever port it got."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.programs import free_port

from tests.server.serving import Server, serving
from vigie.cli import main
from vigie.cli._server_client import DEFAULT, place
from vigie.server.server_address import FILE, ServerAddress, read_address, write_address


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "store") as running:
        yield running


def test_server_on_another_port_is_found_by_its_data_directory(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_address(tmp_path, ServerAddress(f"http://127.0.0.1:{server.port}", f"127.0.0.1:{server.port}"))
    assert main(["query", "1 + 1", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "2\n"


def test_server_of_a_data_directory_is_asked_also_when_it_is_gone_and_a_named_one_before_it(
    tmp_path: Path,
) -> None:
    gone = ServerAddress(f"http://127.0.0.1:{free_port()}")
    write_address(tmp_path, gone)
    assert place(Namespace(server=DEFAULT, data=tmp_path)) == gone
    assert place(Namespace(server="https://head:8000/", data=tmp_path)) == ServerAddress("https://head:8000")


def test_what_a_server_left_that_is_gone_is_not_believed_without_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)  # root's usual directory is not a test's
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "vigie").mkdir()
    write_address(tmp_path / "vigie", ServerAddress(f"http://127.0.0.1:{free_port()}"))
    assert place(Namespace(server=DEFAULT, data=None)) == ServerAddress(DEFAULT)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"colour": "blue"}', '{"url": "http://a", "port": 1}'])
def test_garbage_is_as_good_as_nothing(tmp_path: Path, text: str) -> None:
    assert read_address(tmp_path) is None
    (tmp_path / FILE).write_text(text)
    assert read_address(tmp_path) is None


def test_line_to_paste_is_about_the_server_as_it_was_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "join-token").touch(0o600)
    (tmp_path / "join-token").write_text("secret\n")
    assert main(["nodes", "join", "--data", str(tmp_path)]) == 0
    assert ":8000" in capsys.readouterr().out
    write_address(tmp_path, ServerAddress("http://127.0.0.1:8001", "0.0.0.0:8001"))
    assert main(["nodes", "join", "--data", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out.rstrip().endswith(":8001")
    assert said.err == ""
    assert main(["nodes", "join", "--data", str(tmp_path), "--json", "--address=http://head:1"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "token": "secret",
        "server": "http://head:1",
        "fingerprint": "",
    }
