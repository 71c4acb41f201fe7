"""vigie top without a terminal: printed once, as JSON, and errors that say what to type."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.server.serving import listening
from tests.views import answers
from vigie.cli import main


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    async def cluster(_: object) -> JSONResponse:
        return JSONResponse(answers.cluster())

    with listening(Starlette(routes=[Route("/api/pages/cluster", cluster)])) as port:
        yield f"http://127.0.0.1:{port}"


def test_once_prints_the_cluster(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once", "--server", url]) == 0
    said = capsys.readouterr().out
    assert "1 thing needs you." in said
    assert "gpu01 AAAAAAAA  gpu02 bbbX····" in said
    assert "\x1b" not in said


def test_plain_is_ascii(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once", "--plain", "--server", url]) == 0
    assert capsys.readouterr().out.isascii()


def test_output_that_is_no_terminal_is_printed_once_too(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--server", url]) == 0
    assert "1 thing needs you." in capsys.readouterr().out


def test_json_is_what_the_server_says(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--json", "--server", url]) == 0
    assert json.loads(capsys.readouterr().out) == answers.cluster()


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--server", "http://127.0.0.1:1"], "Cannot reach the server"),
        (["--server", "file:///etc/passwd"], "use a URL"),
    ],
    ids=["nobody", "no address"],
)
def test_error_is_one_plain_line(flags: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", *flags]) == 1
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


def test_neither_help_nor_top_imports_what_only_a_server_needs() -> None:
    heavy = ("numpy", "starlette", "uvicorn")
    script = (
        f"import sys, vigie.cli.top; vigie.cli.parser_of('top'); sys.exit(any(map(sys.modules.get, {heavy})))"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0
