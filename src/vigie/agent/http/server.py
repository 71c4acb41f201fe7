"""A small HTTP/1.1 server for a few read-only paths, bounded in size, time and connections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 16 * 1024
MAX_CONNECTIONS = 64
IDLE_SECONDS = 75.0


class Request(NamedTuple):
    path: str
    query: str
    headers: Mapping[str, str]


class Response(NamedTuple):
    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[Request], Awaitable[Response]]


class BadRequestError(Exception):
    """A request that is rejected with a status and closes the connection."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def serve(handler: Handler, host: str, port: int) -> asyncio.Server:
    """Listen, and pass each request to the handler."""
    connections: set[HttpConnection] = set()
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: HttpConnection(handler, connections), host, port)


class HttpConnection(asyncio.Protocol):
    """One client. Its requests are handled one at a time."""

    def __init__(self, handler: Handler, connections: set[HttpConnection]) -> None:
        self._handler = handler
        self._connections = connections
        self._transport: asyncio.Transport
        self._received = b""
        self._response_task: asyncio.Task[None] | None = None
        self._paused = False
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, unless there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._connections) >= MAX_CONNECTIONS:
            self._refuse(BadRequestError(503, "too many connections"))
            return
        self._connections.add(self)
        self._restart_timer()

    def connection_lost(self, _: Exception | None) -> None:
        self._connections.discard(self)
        if self._idle:
            self._idle.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._response_task is None:
            self._next()
        elif len(self._received) > MAX_HEAD_BYTES:
            self._transport.abort()

    def pause_writing(self) -> None:
        """Stop handling requests while the client does not read."""
        self._paused = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        self._transport.resume_reading()
        if self._response_task is None and self._received:
            self._next()

    def _restart_timer(self) -> None:
        # One timer per connection, restarted only here: cuts off a client that is silent, sends its
        # request a byte at a time, or does not read its response.
        if self._idle:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._transport.abort)

    def _next(self) -> None:
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found:
            if len(head) > MAX_HEAD_BYTES:
                self._refuse(BadRequestError(431, "request head too large"))
            return
        self._received = rest
        try:
            method, request, keep = parse(head)
        except BadRequestError as bad:
            self._refuse(bad)
            return
        self._response_task = asyncio.ensure_future(self._answer(method, request, keep))

    async def _answer(self, method: str, request: Request, keep: bool) -> None:
        try:
            response = await self._handler(request)
        except Exception:  # a failing handler must not end the agent
            log.exception("while handling %s", request.path)
            response = Response(500, b"internal error, see the log\n")
        self._response_task = None
        if self._transport.is_closing():
            return  # the client has disconnected
        self._transport.write(_encode_response(response, method == "HEAD", keep))
        if not keep:
            self._transport.close()
            return
        self._restart_timer()
        if self._received and not self._paused:
            self._next()

    def _refuse(self, bad: BadRequestError) -> None:
        self._transport.write(_encode_response(Response(bad.status, f"{bad}\n".encode()), False, False))
        self._transport.close()


def parse(head: bytes) -> tuple[str, Request, bool]:
    """Return the method, the request, and whether to keep the connection open."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequestError(400, "not an HTTP/1.1 request")
    method, target, version = words
    if method not in ("GET", "HEAD"):
        raise BadRequestError(405, "only GET and HEAD are allowed")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequestError(400, "malformed header")
        headers[name.lower()] = value.strip()
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        raise BadRequestError(413, "request bodies are not allowed")
    path, _, query = target.partition("?")
    last = headers.get("connection", "").lower()
    keep = last != "close" if version == "HTTP/1.1" else last == "keep-alive"
    return method, Request(path, query, headers), keep


def _encode_response(response: Response, head_only: bool, keep: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
        f"Content-Type: {response.content_type}",
        f"Content-Length: {len(response.body)}",
        f"Connection: {'keep-alive' if keep else 'close'}",
        *(f"{name}: {value}" for name, value in response.headers),
        "\r\n",
    ]
    head = "\r\n".join(lines).encode("latin-1")
    return head if head_only else head + response.body
