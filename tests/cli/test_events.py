"""vigie events: what happened, and words where nothing did; vigie gpus where nobody answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.server.serving import listening
from vigie.cli import main

LOST = {
    "begin_ms": 0,
    "end_ms": None,
    "severity": "critical",
    "node": "n1",
    "kind": "node_lost",
    "what": "away",
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
        assert "nothing of the kind happened" in capsys.readouterr().out
        assert main(["events", where, "--kind=oom_kill", "--json"]) == 0
        assert capsys.readouterr().out == ""
        assert main(["events", where, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == LOST


def test_severity_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["events", "--severity=bad"])
    assert "'critical'" in capsys.readouterr().err


def test_gpus_without_an_agent_says_what_to_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpus", "release", f"--data={tmp_path}"]) == 1
    assert "to start one: vigie agent; on another node: --node NODE" in capsys.readouterr().err
