"""One agent, two servers: each has all of it, and neither waits for the other."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.real.waiting import until
from tests.server.test_run import Process, Start
from tests.server.test_run import start as start

pytestmark = pytest.mark.process


def newest(server: Process) -> float:
    """Return when the node was heard last."""
    query = quote('timestamp(node_load1{instance="n1"})')
    (series,) = json.loads(server.ask(f"/api/v1/query?query={query}")[1])["data"]["result"]
    return float(series["value"][1])


def test_agent_serves_two_servers_and_goes_on_with_one_when_the_other_dies(
    start: Start, tmp_path: Path
) -> None:
    first, second = start(data=tmp_path / "a"), start(data=tmp_path / "b")
    for server in (first, second):
        until((server.data / "join-token").exists, "a join token")
    flags = [
        *(f"--server={server.address}" for server in (first, second)),
        *(f"--token-file={server.data / 'join-token'}" for server in (first, second)),
        *("--cadence=1", "--sources=loadavg", "--node=n1", "--listen=127.0.0.1:0", "--socket=off"),
        f"--data={tmp_path / 'agent'}",
    ]
    with subprocess.Popen([sys.executable, "-m", "vigie", "agent", *flags]) as agent:
        try:
            until(lambda: newest(first) and newest(second), "both have heard of the node")
            first.stop(signal.SIGKILL)
            heard = newest(second)
            until(lambda: newest(second) > heard + 1, "the other goes on")
        finally:
            agent.terminate()
        assert agent.wait(30) == 0
