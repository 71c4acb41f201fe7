"""A stop ends within seconds and loses nothing, whoever is connected and whatever is being done."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from websockets.sync.client import connect

from tests.server.test_run import Process
from vigie.server.http.server import CANCEL_SECONDS, STOP_SECONDS
from vigie.wire import messages
from vigie.wire.messages import Hello, Welcome
from vigie.wire.remote_write.write_request import compress, encode

pytestmark = pytest.mark.process

SERIES = 400
# A bound on what the front waits for by itself, and as much again for a machine that is busy.
ENOUGH = 2 * (STOP_SECONDS + CANCEL_SECONDS) + 5


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    running = Process(tmp_path, tmp_path / "data")
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


def _fill(server: Process) -> int:
    """Write some series, and return the newest time."""
    now = time.time_ns() // 1_000_000
    times = [now - 1000 * place for place in range(60)][::-1]
    written = [({"__name__": "a", "n": str(n), "long": "x" * 200}, times, [1.0] * 60) for n in range(SERIES)]
    assert server.write(compress(encode(written))) == 204
    return now


def _place(server: Process) -> tuple[str, int]:
    host, _, port = server.address.removeprefix("http://").rpartition(":")
    return host, int(port)


def _raw(server: Process, text: str) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(_place(server))
    made.sendall(text.encode())
    return made


def _request(path: str, *headers: str) -> str:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""])


def _ended(server: Process) -> str:
    server.process.terminate()
    _, said = server.process.communicate(timeout=ENOUGH)
    assert server.process.returncode == 0, said
    assert "Traceback" not in said, said
    assert said.rstrip().endswith("stopped")
    return said


def _asking(server: Process, newest: int, outcome: list[str]) -> threading.Thread:
    """Ask something that takes long, in a thread."""

    def ask() -> None:
        span = f"start={newest / 1000 - 60}&end={newest / 1000}&step=0.006"
        heavy = quote("sum(quantile_over_time(0.5, a[1m:50ms]))")
        try:
            outcome.append(str(server.ask(f"/api/v1/query_range?query={heavy}&{span}")[0]))
        except (urllib.error.HTTPError, OSError) as error:
            outcome.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


@contextlib.contextmanager
def _linked(server: Process) -> Iterator[None]:
    """Be an agent on the line."""
    join = (server.data / "join-token").read_text().strip()
    url = server.address.replace("http", "ws") + "/link"
    with connect(url, additional_headers={"Authorization": f"Bearer {join}"}, proxy=None) as link:
        link.send(messages.encode(Hello(1, "n1", "start")))
        assert isinstance(messages.decode(link.recv(decode=False)), Welcome)
        yield


def test_stop_waits_for_nobody_and_what_was_acknowledged_is_there(server: Process, tmp_path: Path) -> None:
    newest = _fill(server)
    outcome: list[str] = []
    asking = _asking(server, newest, outcome)
    much = f"/api/v1/query_range?query=a&start={newest / 1000 - 60}&end={newest / 1000}&step=0.1"
    clients = {
        "says nothing": "",
        "is in the middle of its head": "GET /metrics HTTP/1.1\r\nHost: 127",
        "is in the middle of its body": "POST /api/v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nquery=",
        "does not fetch its answer": _request(much),
        "was answered and stays": _request("/healthz"),
    }
    with contextlib.ExitStack() as opened, _linked(server):
        made = {name: opened.enter_context(_raw(server, text)) for name, text in clients.items()}
        assert made["was answered and stays"].recv(64).startswith(b"HTTP/1.1 200")
        assert made["does not fetch its answer"].recv(16).startswith(b"HTTP/1.1 200")
        assert not outcome  # the long question is under way
        _ended(server)
    asking.join(ENOUGH)
    assert len(outcome) == 1
    again = Process(tmp_path, tmp_path / "data")
    try:
        found = json.loads(again.ask(f"/api/v1/query?query=count(a)&time={newest / 1000}")[1])
        assert found["data"]["result"][0]["value"][1] == str(SERIES)
    finally:
        again.process.kill()
        again.process.communicate()
