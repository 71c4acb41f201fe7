"""The agent's Unix socket: the kernel says who is calling, and that decides what is answered."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.sources import reading, steady
from vigie.agent.collector import Collector
from vigie.agent.http.handlers import Handlers
from vigie.agent.http.server import Request, Response
from vigie.agent.http.unix_handlers import UnixHandlers
from vigie.agent.http.unix_socket import UnixPeer, listen
from vigie.agent.loop import Loop
from vigie.cli import _agent_client
from vigie.common.unix_listen import MAX_PATH_BYTES, UnixSocketError
from vigie.simulation.clock import SimulatedClock

NOBODY = 65534
EVERYBODYS_PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or ""
STRANGER = UnixPeer(NOBODY)
MINE = UnixPeer(os.geteuid())


class Way:
    """A link that answers with what it was asked."""

    def state(self) -> dict[str, Any]:
        return {"server": "http://head:8000", "connected": True}

    async def request(self, user: str, target: str) -> tuple[int, bytes]:
        return 200, f"{user} asks {target}".encode()


def pages(*links: Way) -> UnixHandlers:
    clock = SimulatedClock()
    collector = Collector([reading(steady("one"), clock)])
    loop = Loop(collector, clock, cadence=10)
    # Beyond loopback a token is asked for; over the socket it is not.
    return UnixHandlers(Handlers("n1", collector, loop, clock, token="secret", loopback=False), links)


def answered(target: str, peer: UnixPeer, *links: Way) -> Response:
    path, _, query = target.partition("?")
    return asyncio.run(pages(*links).answer(Request(path, query, {}), peer))


async def echo(request: Request, peer: UnixPeer) -> Response:
    return Response(200, f"{request.path} {peer.uid}".encode())


@contextlib.asynccontextmanager
async def listening(
    path: Path, handler: Callable[[Request, UnixPeer], Awaitable[Response]] = echo
) -> AsyncIterator[None]:
    local = await listen(handler, path)
    try:
        yield
    finally:
        local.close()


def test_caller_is_known_by_what_the_kernel_says(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "run" / "agent.sock"
        async with listening(path):
            assert stat.S_IMODE(path.stat().st_mode) == 0o666
            said = await asyncio.to_thread(_agent_client.request, [tmp_path / "none.sock", path], "/status")
            assert said == (200, f"/status {os.geteuid()}".encode())
        assert not path.exists()

    asyncio.run(test())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
@pytest.mark.skipif(not EVERYBODYS_PYTHON, reason="no Python that another user may run")
def test_another_user_of_this_machine_is_told_apart() -> None:
    program = (
        "import os, sys, socket; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        "s.sendall(b'GET /status HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n'); print(s.recv(4096).decode())"
    )

    async def test() -> None:
        directory = tempfile.mkdtemp()  # pytest's own is closed to others
        os.chmod(directory, 0o755)
        path = Path(directory) / "agent.sock"
        async with listening(path, pages().answer):
            command = [EVERYBODYS_PYTHON, "-c", program, str(path)]
            said = await asyncio.to_thread(
                subprocess.run, command, user=NOBODY, capture_output=True, text=True, timeout=60
            )
            assert said.stdout.startswith("HTTP/1.1 403"), said
            assert f"you are uid {NOBODY}" in said.stdout
        os.rmdir(directory)

    asyncio.run(test())


@pytest.mark.parametrize("path", ["/", "/metrics", "/status", "/links", "/healthz"])
def test_own_pages_are_for_root_and_the_owner_and_need_no_token(path: str) -> None:
    assert answered(path, MINE).status == answered(path, UnixPeer(0)).status == 200
    assert answered(path, STRANGER).status == 403


def test_anybody_with_a_name_asks_the_server_under_it() -> None:
    assert answered("/server/api/jobs?state=running", STRANGER, Way()).body == (
        b"nobody asks /api/jobs?state=running"
    )
    assert answered("/server/api/jobs", UnixPeer(4_000_000_000 - 1), Way()).status == 403
    assert answered("/server/api/jobs", MINE).status == 503


def test_socket_that_was_left_behind_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    async def test() -> None:
        async with listening(path):
            assert (await asyncio.to_thread(_agent_client.request, [path], "/"))[0] == 200

    asyncio.run(test())


def test_living_agent_keeps_its_socket_and_a_file_its_place(tmp_path: Path) -> None:
    async def test() -> None:
        async with listening(tmp_path / "agent.sock"):
            with pytest.raises(UnixSocketError, match="another agent listens"):
                await listen(echo, tmp_path / "agent.sock")
            assert (await asyncio.to_thread(_agent_client.request, [tmp_path / "agent.sock"], "/"))[0] == 200
        (tmp_path / "file").write_text("precious")
        with pytest.raises(UnixSocketError, match="is not a socket"):
            await listen(echo, tmp_path / "file")
        assert (tmp_path / "file").read_text() == "precious"
        with pytest.raises(UnixSocketError, match="too long"):
            await listen(echo, tmp_path / ("x" * MAX_PATH_BYTES))
        with pytest.raises(UnixSocketError, match="file"):
            await listen(echo, tmp_path / "file" / "agent.sock")

    asyncio.run(test())


def test_socket_that_was_left_behind_is_no_agent(tmp_path: Path) -> None:
    left = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX) as ended:
        ended.bind(str(left))
    assert not _agent_client.is_there([left, tmp_path / "none.sock"])


def test_no_agent_is_said_with_where_one_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(_agent_client.NoAgentError, match=r"no agent responds at .*one\.sock or .*two\.sock"):
        _agent_client.request([tmp_path / "one.sock", tmp_path / "two.sock"], "/status")
