from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.agent.http import server
from vigie.agent.http.server import BadRequestError, Request, Response, parse


async def _echo(request: Request) -> Response:
    if request.path == "/fail":
        raise RuntimeError("no")
    return Response(200, f"{request.path}?{request.query}".encode())


def talk(scenario: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> None:
    async def run() -> None:
        listener = await server.serve(_echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname())
        await scenario(reader, writer)
        writer.close()
        listener.close()

    asyncio.run(run())


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length")
    )
    return int(head.split()[1]), await reader.readexactly(length)


def test_connection_is_kept_for_several_requests() -> None:
    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for path in (b"/a", b"/b?x=1"):
            writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await _answer(reader) == (200, path if b"?" in path else path + b"?")

    talk(scenario)


def test_requests_sent_ahead_are_answered_in_turn() -> None:
    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(b"GET /%d HTTP/1.1\r\n\r\n" % n for n in range(20)))
        for n in range(20):
            assert await _answer(reader) == (200, b"/%d?" % n)

    talk(scenario)


def test_request_may_come_byte_by_byte() -> None:
    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in b"GET /slow HTTP/1.1\r\n\r\n":
            writer.write(bytes([byte]))
            await writer.drain()
        assert await _answer(reader) == (200, b"/slow?")

    talk(scenario)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST / HTTP/1.1\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 413),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon here\r\n\r\n", 400),
        (b"\x16\x03\x01\x00\xff\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 20000, 431),
    ],
)
def test_bad_request_is_refused_and_hung_up_on(sent: bytes, status: int) -> None:
    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        assert (await _answer(reader))[0] == status
        assert await reader.read() == b""

    talk(scenario)


def test_failing_handler_gives_500_and_the_connection_lives(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET /fail HTTP/1.1\r\n\r\nGET /ok HTTP/1.1\r\n\r\n")
        assert (await _answer(reader))[0] == 500
        assert await _answer(reader) == (200, b"/ok?")

    talk(scenario)
    assert "while handling /fail" in caplog.text


def test_head_has_a_length_and_no_body() -> None:
    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HEAD /abc HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        assert b"Content-Length: 5" in answer
        assert answer.endswith(b"\r\n\r\n")

    talk(scenario)


def test_client_that_does_not_read_is_not_answered_on_and_on() -> None:
    answered = []

    async def large(request: Request) -> Response:
        answered.append(request.path)
        return Response(200, b"x" * 8_000_000)

    async def run() -> None:
        listener = await server.serve(large, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname(), limit=1024)
        writer.write(b"GET / HTTP/1.1\r\n\r\n" * 5)
        while not answered:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(answered) == 1
        for _ in range(5):
            assert len((await _answer(reader))[1]) == 8_000_000
        assert len(answered) == 5
        writer.close()
        listener.close()

    asyncio.run(run())


def test_too_many_connections_are_turned_away() -> None:
    async def run() -> None:
        listener = await server.serve(_echo, "127.0.0.1", 0)
        address = listener.sockets[0].getsockname()
        kept = [await asyncio.open_connection(*address) for _ in range(server.MAX_CONNECTIONS)]
        for reader, writer in kept:  # all of them have been accepted once each has its answer
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert (await _answer(reader))[0] == 200
        reader, writer = await asyncio.open_connection(*address)
        assert (await _answer(reader))[0] == 503
        for _, each in [*kept, (reader, writer)]:
            each.close()
        listener.close()

    asyncio.run(run())


@given(st.binary(max_size=300))
def test_any_head_parses_or_is_refused(head: bytes) -> None:
    try:
        method, request, _ = parse(head)
    except BadRequestError:
        return
    assert method in ("GET", "HEAD")
    assert "?" not in request.path
