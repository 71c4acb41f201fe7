"""Server and agent as processes: every line that they log is an object when that is asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.test_run import Process

pytestmark = pytest.mark.process


def _told(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def test_server_logs_objects_and_requests_among_them(tmp_path: Path) -> None:
    server = Process(tmp_path, tmp_path / "data", "--log-format=json", "--access-log=all")
    try:
        for path in ("/api/v1/labels?token=hidden", "/healthz"):
            server.ask(path, Authorization=f"Bearer {server.token()}")
        token, said = server.token(), server.stop()
    finally:
        server.process.kill()
        server.process.communicate()
    told = _told(said)
    (request,) = [line for line in told if line["logger"] == "vigie.access"]
    assert (request["client"], request["who"], request["method"]) == ("127.0.0.1", "admin", "GET")
    assert (request["path"], request["status"]) == ("/api/v1/labels", 200)
    assert request["bytes"] > 0
    assert told[-1]["message"] == "stopped"
    assert "hidden" not in said
    assert token not in said


def test_agent_logs_objects(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vigie", "agent", "--listen=127.0.0.1:0", "--sources=loadavg"]
    with subprocess.Popen(
        [*command, "--log-format=json", f"--data={tmp_path}"], stderr=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stderr is not None
        first = agent.stderr.readline()
        agent.terminate()
        told = _told(first + agent.stderr.read())
    assert told[0]["level"] == "info"
    assert told[-1]["message"] == "stopped"
