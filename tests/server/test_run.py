"""The server as a process: started, written to, asked, stopped, started again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from vigie.wire.remote_write.write_request import compress, encode

pytestmark = pytest.mark.process

Start = Callable[..., "Process"]


class Process:
    """A running server that has told the service manager that it is ready."""

    def __init__(self, home: Path, data: Path, *flags: str) -> None:
        self.data = data
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as manager:
            path = home / f"notify-{time.monotonic_ns()}"
            manager.bind(str(path))
            manager.settimeout(30)
            self.process = subprocess.Popen(
                [sys.executable, "-m", "vigie", "server", "--listen=127.0.0.1:0", f"--data={data}", *flags],
                env={**os.environ, "NOTIFY_SOCKET": str(path)},
                stderr=subprocess.PIPE,
                text=True,
            )
            self.address = manager.recv(4096).decode().partition("STATUS=")[2]

    def ask(self, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        request = urllib.request.Request(self.address + path, body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()

    def write(self, body: bytes) -> int:
        headers = {"Authorization": f"Bearer {self.token()}", "Content-Type": "application/x-protobuf"}
        return self.ask("/api/v1/write", body, **headers)[0]

    def token(self) -> str:
        return (self.data / "server-token").read_text().strip()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=30)
        return said


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Process] = []

    def begin(*flags: str, data: Path = tmp_path / "data") -> Process:
        running.append(Process(tmp_path, data, *flags))
        return running[-1]

    yield begin
    for server in running:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def test_what_was_written_is_there_after_a_clean_stop_and_a_restart(start: Start) -> None:
    now = time.time_ns() // 1_000_000
    body = compress(encode([({"__name__": "a", "job": "j"}, [now], [7.5])]))
    first = start()
    assert first.write(body) == 204
    said = first.stop(signal.SIGTERM)
    assert first.process.returncode == 0
    assert first.token() not in said
    assert str(first.data / "server-token") in said
    second = start()
    found = json.loads(second.ask(f"/api/v1/query?query={quote('a')}&time={now / 1000}")[1])
    assert found["data"]["result"][0]["value"][1] == "7.5"
    second.stop(signal.SIGINT)
    assert second.process.returncode == 0


def test_second_server_on_the_same_data_is_refused_and_the_token_is_the_owners_alone(start: Start) -> None:
    server = start()
    assert stat.S_IMODE((server.data / "server-token").stat().st_mode) == 0o600
    with pytest.raises(urllib.error.HTTPError, match="401"):
        server.ask("/api/v1/write", b"")
    command = [sys.executable, "-m", "vigie", "server", "--listen=127.0.0.1:0", f"--data={server.data}"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert refused.returncode == 1
    assert f"is in use by process {server.process.pid}" in refused.stderr


def test_server_on_a_backup_of_a_running_one_knows_its_nodes_events_and_secrets(
    start: Start, tmp_path: Path
) -> None:
    first = start()
    asked = {"Authorization": f"Bearer {first.token()}"}
    added = json.loads(first.ask("/api/nodes/n1", b"", **asked)[1])["key"]
    copy = tmp_path / "copy"
    command = [sys.executable, "-m", "vigie", "store", "backup", str(copy), f"--data={first.data}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    first.stop()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    second = start(data=copy)
    assert [node["name"] for node in json.loads(second.ask("/api/nodes")[1])["nodes"]] == ["n1"]
    assert "node_added" in {event["kind"] for event in json.loads(second.ask("/api/events")[1])["events"]}
    assert second.ask("/api/nodes/n2", b"", **asked)[0] == 200
    assert (copy / "join-token").read_text() == (first.data / "join-token").read_text()
    with pytest.raises(urllib.error.HTTPError, match="403"):  # the key is known, and is a node's
        second.ask("/api/nodes/n3", b"", Authorization=f"Bearer {added}")


def test_taken_port_gives_way_to_the_next(start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = start(f"--listen=127.0.0.1:{port}")
        assert int(server.address.rpartition(":")[2]) > port
        said = server.stop()
    assert f"port {port} is taken by" in said
    assert f"(pid {os.getpid()})" in said


def test_server_reads_from_an_engine_elsewhere(start: Start, tmp_path: Path) -> None:
    elsewhere = start()
    write = f"{elsewhere.address}/api/v1/write"
    here = start(f"--store={elsewhere.address}", data=tmp_path / "other")
    assert json.loads(here.ask("/api/v1/query?query=1%2B1")[1])["data"]["result"][1] == "2"
    assert b"vigie_server_queries_total" in here.ask("/metrics")[1]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        here.write(b"x")
    assert not (tmp_path / "other" / "store").exists()
    passing = start(f"--store={elsewhere.address}", f"--store-write={write}", data=tmp_path / "third")
    with pytest.raises(urllib.error.HTTPError, match="401"):  # of the other side, whose token we do not have
        passing.write(b"x")
