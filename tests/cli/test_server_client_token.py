"""The token of the server of this machine is shown to that server, and to nobody who listens in its place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.programs import free_port

from tests.server.serving import serving
from vigie.cli import main

NOBODY = 65534
LISTENER = """
import os, socket, sys
os.setuid(int(sys.argv[1]))
with socket.create_server(("127.0.0.1", 0)) as bound:
    print(bound.getsockname()[1], flush=True)
    connection, _ = bound.accept()
    with connection:
        print("Bearer" in connection.recv(65536).decode(), flush=True)
        connection.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n{"nodes": []}')
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user, too")
@pytest.mark.parametrize(("user", "shown"), [(0, True), (NOBODY, False)])
@pytest.mark.parametrize("asking", [["nodes"], ["publish", "OUT"]], ids=["nodes", "publish"])
def test_token_is_not_shown_to_another_users_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], user: int, shown: bool, asking: list[str]
) -> None:
    token = tmp_path / "server-token"
    token.touch(0o600)
    token.write_text("secret\n")
    command = [sys.executable, "-Ic", LISTENER, str(user)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdout
        port = int(listener.stdout.readline())
        given = [word.replace("OUT", str(tmp_path / "out")) for word in asking]
        main([*given, "--server", f"http://127.0.0.1:{port}", "--data", str(tmp_path)])
        assert listener.stdout.readline().strip() == str(shown)
    assert ("in use by uid 65534" in capsys.readouterr().err) is not shown


def test_proxy_of_the_environment_never_sees_what_is_asked_of_this_machines_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with serving(tmp_path) as server:
        assert main(["query", "1 + 1", "--server", f"http://127.0.0.1:{server.port}"]) == 0
    assert capsys.readouterr().out == "2\n"
