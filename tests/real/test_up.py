"""`vigie up` as a person types it: one command, an address, data; and it leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from bench.programs import free_port

from tests.expositions import Series, parse
from tests.real.conftest import need, output
from tests.real.waiting import until
from vigie.server.http.tls import fingerprint

TARGET = ("instance", "job")
NONE: frozenset[tuple[str, str]] = frozenset()


class Up:
    """A running `vigie up`."""

    def __init__(self, home: Path, port: int, *flags: str) -> None:
        self.home, self._errors = home, (home / "errors").open("wb")
        command = [sys.executable, "-m", "vigie", "up", f"--listen=127.0.0.1:{port}", f"--data={home}/data"]
        environment = {**os.environ, "VIGIE_AGENT_NO_SOURCES": "processes"}  # their states come and go
        self.process = subprocess.Popen(
            [*command, *flags], env=environment, stdout=subprocess.PIPE, stderr=self._errors
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().decode().strip()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self._errors.close()

    def ask(self, path: str) -> Any:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with urllib.request.urlopen(f"{self.address}{path}", timeout=60, context=context) as answer:
            return json.loads(answer.read())

    def up(self) -> list[str]:
        return [series["value"][1] for series in self.ask("/api/v1/query?query=up")["data"]["result"]]

    def agents(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    @property
    def said(self) -> str:
        return (self.home / "errors").read_text()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    with contextlib.ExitStack() as started:
        yield lambda port, *flags: started.enter_context(contextlib.closing(Up(tmp_path, port, *flags)))


def test_agent_listens_where_the_configuration_says(start: Callable[..., Up], tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "vigie.toml").write_text(f'[agent]\nlisten = "127.0.0.1:{port}"\n')
    up = start(free_port(), f"--config={tmp_path}/vigie.toml")
    assert until(up.up, "up") == ["1"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
        assert answer.status == 200


def test_one_command_gives_an_address_with_data_and_stops_cleanly(start: Callable[..., Up]) -> None:
    up = start(free_port())
    assert until(up.up, "up") == ["1"]
    (node,) = up.ask("/api/nodes")["nodes"]
    assert (node["name"], node["state"]) == (socket.gethostname(), "up")
    listed = output(sys.executable, "-m", "vigie", "nodes", "--server", up.address)
    assert listed.stdout.splitlines()[1].split()[:2] == [socket.gethostname(), "up"]
    told = output(
        sys.executable, "-m", "vigie", "events", "--server", up.address, "--kind=node_joined", "--json"
    )
    assert json.loads(told.stdout)["kind"] == "node_joined"
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(60) == 0
    assert "has left: it was stopped" in up.said


def test_linked_series_are_those_that_a_scrape_of_the_agent_gives(start: Callable[..., Up]) -> None:
    up = start(free_port())
    until(up.up, "up")
    listen = until(lambda: re.search(r"metrics: (http://\S+)/metrics", up.said), "where the agent is")[1]
    with urllib.request.urlopen(f"{listen}/metrics?fresh", timeout=60) as answer:
        scraped = set(parse(answer.read().decode()).values)
    found = up.ask("/api/v1/series?match[]=" + quote('{job="node"}'))["data"]
    linked = {_series(labels) for labels in found} - {("up", NONE), ("vigie_node_clock_offset_seconds", NONE)}
    assert linked == scraped


def _series(labels: dict[str, str]) -> Series:
    name = labels.pop("__name__")
    escaped = {key: json.dumps(value, ensure_ascii=False)[1:-1] for key, value in labels.items()}
    return name, frozenset(pair for pair in escaped.items() if pair[0] not in TARGET)


def test_taken_port_is_named_with_its_holder_and_the_next_is_used(start: Callable[..., Up]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up = start(port)
        assert f"port {port} is taken by" in up.said
        assert f"(pid {os.getpid()})" in up.said
        assert up.address != f"http://127.0.0.1:{port}"
        assert until(up.up, "up") == ["1"]


def test_agent_of_a_killed_server_ends_too(start: Callable[..., Up]) -> None:
    up = start(free_port())
    (agent,) = until(up.agents, "an agent")
    up.process.kill()
    up.process.wait()
    until(lambda: not Path(f"/proc/{agent}").exists(), "the agent ends")


def test_self_signed_server_is_known_by_its_fingerprint_alone(
    start: Callable[..., Up], tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = [need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    files = ["-nodes", "-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=head"]
    assert output(*command, *files).returncode == 0
    up = start(free_port(), f"--tls-cert={certificate}", f"--tls-key={key}")
    assert up.address.startswith("https://")
    assert until(up.up, "up") == ["1"]
    commands = [sys.executable, "-m", "vigie", "nodes"]
    listed = output(*commands, "list", f"--data={tmp_path}/data")
    assert listed.stdout.splitlines()[1].split()[:2] == [socket.gethostname(), "up"], listed.stderr
    for action in (["join"], ["add", "n2"]):
        line = output(*commands, *action, f"--data={tmp_path}/data").stdout
        assert f"--fingerprint {fingerprint(certificate)}" in line
        assert "--server https://" in line
    stranger = [sys.executable, "-m", "vigie", "agent", "--listen=127.0.0.1:0", f"--data={tmp_path}/other"]
    for flags, why in (([], "certificate verify failed"), (["--fingerprint=00ff"], "has fingerprint")):
        with subprocess.Popen(
            [*stranger, "--node=other", f"--server={up.address}", *flags],
            env={**os.environ, "VIGIE_TOKEN": "secret"},
            stderr=subprocess.PIPE,
        ) as refused:
            assert refused.stderr is not None
            lines = iter(refused.stderr.readline, b"")
            assert next(line for line in lines if b"link to" in line).decode().count(why) == 1
            refused.terminate()
