"""The agent as a process: started, scraped, stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vigie

pytestmark = pytest.mark.process

Start = Callable[..., "Agent"]


class Agent:
    """A running agent that has told the service manager that it is ready."""

    def __init__(self, home: Path, *flags: str, **environment: str) -> None:
        self._manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._manager.bind(str(home / "notify"))
        self._manager.settimeout(20)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vigie", "agent", "--listen=127.0.0.1:0", *flags],
            env={**os.environ, "NOTIFY_SOCKET": str(home / "notify"), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.ready = self.told()
        self.address = self.ready.partition("STATUS=")[2].removesuffix("/metrics")

    def told(self) -> str:
        return self._manager.recv(4096).decode()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[str, str]:
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self._manager.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Agent] = []

    def begin(*flags: str, **environment: str) -> Agent:
        running.append(Agent(tmp_path, *flags, **environment))
        return running[-1]

    yield begin
    for agent in running:
        agent.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_agent_tells_systemd_serves_and_stops_cleanly(start: Start, number: signal.Signals) -> None:
    agent = start()
    assert agent.ready.startswith("READY=1\n")
    assert "node_load1 " in agent.get("/metrics")
    assert agent.get("/healthz") == "ok\n"
    assert json.loads(agent.get("/status"))["sources"]["loadavg"]["state"] == "ok"
    agent.stop(number)
    assert agent.process.returncode == 0
    assert agent.told() == "STOPPING=1"


def test_json_lines_on_standard_output_hold_every_table(start: Start) -> None:
    agent = start("--log-json=-", "--sources=loadavg,cpu", "--node=n1")
    out, _ = agent.stop()
    first = json.loads(out.splitlines()[0])
    assert first["node"] == "n1"
    assert first["time"] > 1.7e9
    assert set(first["tables"]) == {"agent", "cpu", "loadavg"}
    assert first["tables"]["loadavg"]["node_load1"] >= 0
    assert 'node_cpu_seconds_total{cpu="0",mode="idle"}' in first["tables"]["cpu"]


def test_taken_port_is_named_with_its_holder(start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "vigie", "agent", f"--listen=127.0.0.1:{port}"]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 1
    assert f"port {port} is in use by" in refused.stderr
    assert f"(pid {os.getpid()})" in refused.stderr
    assert f"--listen 127.0.0.1:{port + 1}" in refused.stderr


def test_beyond_loopback_a_token_is_made_for_the_owner_alone(start: Start, tmp_path: Path) -> None:
    agent = start("--listen=0.0.0.0:0", f"--data={tmp_path}/data", "--sources=loadavg")
    agent.address = agent.address.replace("0.0.0.0", "127.0.0.1")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        agent.get("/metrics")
    path = tmp_path / "data" / "scrape-token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = path.read_text().strip()
    request = urllib.request.Request(agent.address + "/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert b"node_load1" in answer.read()
    _, log = agent.stop()
    assert token not in log


# Everything is imported first: the Python itself may lie where only root can read.
AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[1])
import encodings.idna
from vigie.cli import main, parser_of
from vigie.sources.core.registry import find_sources
parser_of("doctor").parse_args([])
find_sources()
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
sys.exit(main(["doctor", "--json"]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_ordinary_user_gets_what_can_be_read_and_reasons_for_the_rest() -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        shutil.copytree(Path(vigie.__file__).parent, Path(home) / "vigie")
        command = [sys.executable, "-c", AS_NOBODY, home]
        environment = {**os.environ, "HOME": "/nonexistent"}
        said = subprocess.run(
            command, env=environment, cwd="/", capture_output=True, text=True, timeout=60, check=False
        )
    assert said.returncode == 0, said.stderr
    sources = json.loads(said.stdout)["sources"]
    assert sources["cpu"]["state"] == "ok"
    assert {source["state"] for source in sources.values()} <= {"ok", "unavailable"}
    assert all(source["reason"] for source in sources.values() if source["state"] != "ok")
