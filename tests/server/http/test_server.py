"""The HTTP front has bounds: on heads, bodies, time and connections; junk costs its own connection only."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.server import linking
from tests.server.serving import listening
from vigie.server.http import protocols, requests
from vigie.server.http.bodies import read_body
from vigie.server.http.protocols import ServerProtocol
from vigie.server.http.requests import read_parameters
from vigie.server.http.responses import handle_errors
from vigie.wire import messages
from vigie.wire.messages import MAX_MESSAGE, Goodbye, Hello, Welcome

pytestmark = pytest.mark.process

OK = b"HTTP/1.1 200"


async def _at_once(_: Request) -> Response:
    return PlainTextResponse("answered before the body came")


async def _much(_: Request) -> Response:
    return Response(b"x" * (32 << 20))


async def _form(request: Request) -> Response:
    return PlainTextResponse((await read_parameters(request)).one("a"))


async def _hasty_body(request: Request) -> Response:
    return Response(await read_body(request, 10, seconds=0.2))


class Hasty(ServerProtocol):
    """A connection with short deadlines."""

    head_seconds = answer_seconds = 0.2


def _app() -> Starlette:
    paths = (("/at_once", _at_once), ("/much", _much), ("/form", _form), ("/hasty_body", _hasty_body))
    return Starlette(
        routes=[Route(path, handle_errors(made), methods=["GET", "POST"]) for path, made in paths]
    )


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening(_app()) as found:
        yield found


@pytest.fixture(scope="module")
def hasty() -> Iterator[int]:
    with listening(_app(), Hasty) as found:
        yield found


def _said(port: int, *parts: bytes) -> bytes:
    """Return what comes back until the other side hangs up, within a bound."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        said = b""
        with contextlib.suppress(ConnectionError):
            for part in parts:
                client.sendall(part)
            while more := client.recv(65536):
                said += more
        return said


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * (protocols.MAX_URL + 1) + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nLong: " + b"x" * (protocols.MAX_HEAD + 1) + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"Many: header\r\n" * 20_000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS, where none is spoken
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
    ],
    ids=["address", "header", "headers", "tls", "ssh"],
)
def test_head_that_is_too_long_or_none_is_hung_up_on(port: int, head: bytes) -> None:
    said = _said(port, head)
    assert said == b"" or said.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (b"", b""),
        (b"GET /at_once HTTP/1.1\r\nHo", b""),
        (b"POST /at_once HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx", OK),
        (b"POST /at_once HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxGET /at", OK),
        (b"POST /hasty_body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na=", b"HTTP/1.1 503"),
    ],
    ids=["nothing", "half a head", "half a body, answered", "half a head later", "half a body"],
)
def test_whoever_stops_in_the_middle_is_hung_up_on(hasty: int, text: bytes, answer: bytes) -> None:
    assert _said(hasty, text).startswith(answer)


def test_header_that_never_ends_is_cut_off_before_it_fills_memory(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET /at_once HTTP/1.1\r\nHost: a\r\nX-Long: ")
        with pytest.raises(ConnectionError):
            _send_for_ever(client, b"x" * 65536)


def _send_for_ever(client: socket.socket, data: bytes) -> None:
    while client.send(data):
        pass


def test_answer_that_nobody_fetches_is_let_go(hasty: int) -> None:
    with socket.create_connection(("127.0.0.1", hasty), timeout=60) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n")
        with pytest.raises(ConnectionError):
            _send_for_ever(client, b"\r\n")


def test_body_that_is_too_large_is_refused(port: int) -> None:
    head = b"POST /form HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    head += b"Content-Type: application/x-www-form-urlencoded\r\n"
    size = requests.MAX_FORM + 1
    said = _said(port, head + b"Content-Length: %d\r\n\r\n" % size, b"a" * size)
    assert b"larger than" in said or said == b""  # reset before it was read


async def _parted(socket: ClientConnection) -> str:
    """Return what the server says before it closes."""
    said = ""
    with contextlib.suppress(ConnectionClosed):
        while True:
            message = await linking.said(socket)
            said = message.reason if isinstance(message, Goodbye) else said
    return said


def test_oversized_message_and_unknown_version_close_that_link_only(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            linking.serving(tmp_path / "s") as place,
            linking.agent(place, tmp_path, "n1") as n1,
        ):
            await n1.connected()
            async with linking.raw(place) as huge:
                with contextlib.suppress(ConnectionClosed):
                    await huge.send(b"x" * (MAX_MESSAGE + 1))
                await linking.heard_out(huge)
                assert huge.close_code == 1009
            async with linking.raw(place) as text:
                await text.send("hello")
                assert "text" in await _parted(text)
            async with linking.raw(place) as ancient:
                await ancient.send(messages.encode(Hello(0, "n2", "start")))
                assert "protocol 0" in await _parted(ancient)
            async with linking.raw(place) as newer:  # what is newer than us speaks as we do
                await newer.send(messages.encode(Hello(99, "n3", "start")))
                welcome = await linking.said(newer)
                assert isinstance(welcome, Welcome)
                assert welcome.protocol == messages.PROTOCOL
            n1.send(1.0)
            await n1.acknowledged()
            assert n1.link.counters.connections == 1

    linking.run(test())


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=3))
def test_random_bytes_never_stop_the_server(port: int, parts: list[bytes]) -> None:
    with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)) as client:
        for part in parts:
            client.sendall(part)
    assert _said(port, b"GET /at_once HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").startswith(OK)


def test_connections_beyond_the_bound_are_refused_and_hung_up_on() -> None:
    ask = b"GET /at_once HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with listening(_app(), most=3) as port:
        with contextlib.ExitStack() as opened:
            place = ("127.0.0.1", port)
            idle = [opened.enter_context(socket.create_connection(place, timeout=60)) for _ in range(2)]
            assert _said(port, ask).startswith(b"HTTP/1.1 503")
            idle.append(opened.enter_context(socket.create_connection(place, timeout=60)))
            assert _said(port, b"") == b""
        while not _said(port, ask).startswith(OK):  # until it has noticed that they left
            pass
