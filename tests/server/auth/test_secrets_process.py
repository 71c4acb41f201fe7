"""The server as a process: what it says about secrets, where, and what it refuses to start with."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.test_run import Process
from vigie.cli import main
from vigie.server.http.tls import build_context, fingerprint

pytestmark = pytest.mark.process

PASSWORD = "from a file"


@contextlib.contextmanager
def started(home: Path, *flags: str) -> Iterator[Process]:
    server = Process(home, home / "data", *flags)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Run a server that tests only ask, with a password of a file, that always wants credentials."""
    home = Path(tmp_path_factory.mktemp("server"))
    (home / "password").write_text(f"{PASSWORD}\nnot this\n")
    with started(home, f"--admin-password-file={home}/password", "--auth=always") as running:
        yield running


def _sign_in(address: str, password: str) -> int:
    body = json.dumps({"name": "admin", "password": password}).encode()
    request = urllib.request.Request(f"{address}/api/login", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def _said_to_a_terminal(home: Path) -> Iterator[str]:
    """Start a server with a terminal, yield what it has said there, and stop it."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "vigie", "server", "--listen=127.0.0.1:0", f"--data={home}/data"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    try:
        said = ""
        while "/login?once=" not in said or not said.endswith("\n"):
            said += os.read(ours, 4096).decode()
        yield said
    finally:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):  # Linux says EIO when the other side is gone
            while os.read(ours, 4096):
                pass
        process.wait(60)
        os.close(ours)


def test_terminal_is_told_a_password_at_the_first_start_and_a_link_at_each(tmp_path: Path) -> None:
    for said in _said_to_a_terminal(tmp_path):
        link = re.search(r"(http://\S+?)(/login\?once=\S+)", said)
        password = re.search(r"never again: (\S+)", said)
        assert link
        assert password
        assert _sign_in(link[1], password[1]) == 200
        request = urllib.request.Request(link[1] + link[2], method="GET")
        with pytest.raises(urllib.error.HTTPError) as first, _no_redirects().open(request, timeout=60):
            pass
        assert (first.value.code, "vigie_session=" in first.value.headers["set-cookie"]) == (303, True)
        first.value.close()
    for said in _said_to_a_terminal(tmp_path):
        assert "never again" not in said


def _no_redirects() -> urllib.request.OpenerDirector:
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    return urllib.request.build_opener(Stay)


def test_log_holds_no_secret_and_says_how_to_get_in(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        assert _sign_in(server.address, "wrong password") == 401
        said = server.stop()
    assert f"vigie users passwd admin --data {tmp_path}/data" in said
    assert "a sign-in from 127.0.0.1 failed" in said
    assert "wrong password" not in said
    assert "once=" not in said
    assert "never again" not in said
    for file in ("server-token", "join-token"):
        assert (tmp_path / "data" / file).read_text().strip() not in said


def test_password_of_a_file_is_that_of_admin(server: Process) -> None:
    assert _sign_in(server.address, PASSWORD) == 200


def test_always_wants_credentials_on_this_machine_too(server: Process) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401") as refused:
        server.ask("/metrics")
    refused.value.close()
    assert server.ask("/metrics", Authorization=f"Bearer {server.token()}")[0] == 200


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("lie", 401), ("server-token", 403)])
def test_link_is_closed_to_all_but_nodes_before_it_is_open(
    server: Process, token: str | None, status: int
) -> None:
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    if token:
        shown = server.token() if token == "server-token" else token
        headers["Authorization"] = f"Bearer {shown}"
    address = server.address.removeprefix("http://")
    with contextlib.closing(http.client.HTTPConnection(address, timeout=60)) as client:
        client.request("GET", "/link", headers={**headers, "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
        assert client.getresponse().status == status


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--auth=never"], "loopback, always, open"),
        (["--proxies=10.0.0.0/33"], "10.0.0.0/33"),
        (["--proxies=proxy.example"], "use a list such as"),
        (["--proxy-user-header=X-Remote-User"], "needs server.proxies"),
        (["--tls-key=k.pem"], "needs server.tls_cert"),
        (["--tls-cert=/nonexistent.pem"], "/nonexistent.pem"),
        (["--admin-password-file=/nonexistent"], "/nonexistent"),
        (["--admin-password-file=/dev/null"], "/dev/null holds no password"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_line(
    tmp_path: Path, flags: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["server", f"--data={tmp_path}", "--listen=127.0.0.1:0", *flags]) == 1
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


def test_garbage_is_no_certificate(tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    file.write_bytes(b"\xff-----BEGIN CERTIFICATE-----\nnot base64")
    with pytest.raises(ValueError, match=r"cert\.pem"):
        build_context(str(file), "")
    with pytest.raises(ValueError, match="no certificate in PEM form"):
        fingerprint(file)
