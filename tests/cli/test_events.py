"""vigie events: what happened, and words where nothing did."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.server.serving import listening
from vigie.cli import main

LOST: dict[str, object] = {
    "id": 1,
    "begin_ms": 0,
    "end_ms": None,
    "severity": "critical",
    "node": "n1",
    "kind": "node_lost",
    "what": "away",
    "where": {},
}


async def answer(request: Request) -> JSONResponse:
    asked = request.query_params.get("kind")
    return JSONResponse({"events": [LOST] if asked in (None, LOST["kind"]) else [], "last": 1})


def test_events_are_told_and_that_there_are_none_is_told_too(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(Starlette(routes=[Route("/api/events", answer)])) as port:
        where = f"--server=http://127.0.0.1:{port}"
        assert main(["events", where]) == 0
        assert "n1  node_lost: away" in capsys.readouterr().out
        assert main(["events", where, "--kind=oom_kill"]) == 0
        assert "No matching events" in capsys.readouterr().out
        assert main(["events", where, "--kind=oom_kill", "--json"]) == 0
        assert capsys.readouterr().out == ""
        assert main(["events", where, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == LOST


def test_following_goes_on_when_a_server_was_away(capsys: pytest.CaptureFixture[str]) -> None:
    away = JSONResponse({"error": "it is being stopped"}, 503)
    refused = JSONResponse({"error": "no more"}, 401)
    said = iter([JSONResponse({"events": [], "last": 1}), away, JSONResponse({"events": [LOST], "last": 2})])

    async def in_turn(_: Request) -> JSONResponse:
        return next(said, refused)

    with listening(Starlette(routes=[Route("/api/events", in_turn)])) as port:
        assert main(["events", "--follow", f"--server=http://127.0.0.1:{port}"]) == 1
    told = capsys.readouterr()
    assert "n1  node_lost: away" in told.out
    assert [line.split(": ", 2)[2] for line in told.err.splitlines()] == [
        "503: it is being stopped",
        "401: no more",
    ]


def test_what_is_no_server_is_said_so_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:

        def greet() -> None:
            with bound.accept()[0] as connection:
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")
                connection.recv(65536)

        greeter = threading.Thread(target=greet)
        greeter.start()
        assert main(["events", f"--server=http://127.0.0.1:{bound.getsockname()[1]}"]) == 1
        greeter.join()
    told = capsys.readouterr().err
    assert "Is --server the URL of a server?" in told
    assert told.count("\n") == 1


def test_response_of_another_server_is_reported_with_the_field(capsys: pytest.CaptureFixture[str]) -> None:
    async def foreign(_: Request) -> JSONResponse:
        return JSONResponse({"events": [{**LOST, "begin_ms": "yesterday"}], "last": 1})

    with listening(Starlette(routes=[Route("/api/events", foreign)])) as port:
        assert main(["events", f"--server=http://127.0.0.1:{port}"]) == 1
    told = capsys.readouterr().err
    assert "Unexpected response" in told
    assert "$.events[0].begin_ms" in told


def test_severity_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["events", "--severity=bad"])
    assert "'critical'" in capsys.readouterr().err
