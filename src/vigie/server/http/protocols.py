"""Connections of uvicorn with bounds: on heads, on unfinished messages, and on the time an answer takes."""

from __future__ import annotations

import asyncio
from typing import Protocol

from uvicorn._types import ASGIReceiveEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

MAX_QUEUED = 64 << 10  # bytes that may wait before reading stops
MAX_FIRST_MESSAGE = 256 << 10  # bytes: before its hello an agent has little to say
MAX_UNFINISHED = 64 << 20  # bytes of messages of all links that have not come to their end
MAX_HEADS = 16 << 20  # bytes of all heads that have not come to their end
MAX_URL = 64 << 10
MAX_HEAD = 128 << 10
HEAD_SECONDS = 30.0
ANSWER_SECONDS = 300.0  # for an answer to be fetched: until then it takes memory


class Connection(Protocol):
    """What can be cut off."""

    transport: asyncio.Transport


class UnfinishedBytes:
    """Counts what has come of unfinished messages; beyond the bound who holds the most is cut off."""

    def __init__(self, total: int) -> None:
        self._total, self._used = total, 0
        self._held: dict[Connection, int] = {}

    def hold(self, connection: Connection, size: int) -> None:
        """Note how much a connection holds now."""
        self._used += size - self._held.pop(connection, 0)
        if size:
            self._held[connection] = size
        while self._used > self._total:
            largest = max(self._held, key=self._held.__getitem__)
            self._used -= self._held.pop(largest)
            largest.transport.abort()


class LinkProtocol(WebSocketsSansIOProtocol):
    """Stops reading when so many bytes wait for the application, and cuts off who does not read."""

    answer_seconds = ANSWER_SECONDS
    unfinished = UnfinishedBytes(MAX_UNFINISHED)  # of all connections
    _waiting = 0
    _unfinished = 0
    _abort_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection; its first message is short."""
        super().connection_made(transport)
        self.conn.max_message_size = MAX_FIRST_MESSAGE

    def data_received(self, data: bytes) -> None:
        """Take a part of a message."""
        self._unfinished += len(data)
        super().data_received(data)
        self.unfinished.hold(self, self._unfinished)

    def send_receive_event_to_app(self) -> None:
        self._unfinished = 0
        self.conn.max_message_size = self.config.ws_max_size
        self._waiting += sum(map(len, self.frames))
        paused, has_room = self.read_paused, self._waiting < MAX_QUEUED
        self.read_paused = paused or has_room  # what is paused already is not paused again
        super().send_receive_event_to_app()
        if has_room:
            self.read_paused = paused

    async def receive(self) -> ASGIReceiveEvent:
        message = await super().receive()
        if self.queue.empty():
            self._waiting = 0
        return message

    def pause_writing(self) -> None:
        """Wait so long for the agent to fetch what was said."""
        super().pause_writing()
        self._abort_timer = self.loop.call_later(self.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it is fetched, or nearly."""
        self._cancel_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the agent."""
        self._cancel_timer()
        self.unfinished.hold(self, 0)
        super().connection_lost(exc)

    def _cancel_timer(self) -> None:
        if self._abort_timer:
            self._abort_timer.cancel()
            self._abort_timer = None


class HeadTooLongError(Exception):
    """A head that is longer than any honest one; the parser makes a 400 of it."""


class ServerProtocol(HttpToolsProtocol):
    """Cuts off who sends an endless head, or one a byte at a time, or does not fetch the answer."""

    head_seconds, answer_seconds = HEAD_SECONDS, ANSWER_SECONDS
    heads = UnfinishedBytes(MAX_HEADS)  # of all connections
    _waiting: asyncio.TimerHandle | None = None
    _length = 0
    _unfinished = 0  # bytes of the head so far
    _in_head = True
    _whole = True  # the request has come to its end

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, unless there are too many, and wait so long for its first request."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            transport.abort()
        else:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._cancel_timer()
        self.heads.hold(self, 0)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; the parser keeps a header until it is whole, however long that is."""
        if self._in_head:
            self._unfinished += len(data)
        super().data_received(data)
        if self._unfinished > MAX_URL + MAX_HEAD:
            self.transport.abort()
        self.heads.hold(self, self._unfinished)

    def on_message_begin(self) -> None:
        """Wait so long for the head of the request."""
        super().on_message_begin()
        self._length, self._whole = 0, False
        self._start_timer()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MAX_URL:
            raise HeadTooLongError

    def on_header(self, name: bytes, value: bytes) -> None:
        self._length += len(name) + len(value)
        if self._length > MAX_HEAD:
            raise HeadTooLongError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Wait no more: the body has a deadline of its own."""
        self._in_head, self._unfinished = False, 0
        self._cancel_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for the next request, if this one was answered before it came to its end."""
        self._whole = self._in_head = True
        super().on_message_complete()
        if self.cycle and self.cycle.response_complete:
            self._start_timer()

    def handle_websocket_upgrade(self) -> None:
        """Hand over: a WebSocket stays, and has deadlines of its own."""
        self._cancel_timer()
        super().handle_websocket_upgrade()

    def on_response_complete(self) -> None:
        """Wait so long for the rest of a request that was answered before it came to its end."""
        super().on_response_complete()
        if not self._whole and not self.transport.is_closing():
            self._start_timer()

    def pause_writing(self) -> None:
        """Wait so long for the client to fetch its answer."""
        super().pause_writing()
        self._start_timer(self.answer_seconds)

    def resume_writing(self) -> None:
        """Go on: the answer is fetched, or nearly."""
        self._cancel_timer()
        super().resume_writing()

    def _start_timer(self, seconds: float | None = None) -> None:
        self._cancel_timer()
        self._waiting = self.loop.call_later(seconds or self.head_seconds, self.transport.abort)

    def _cancel_timer(self) -> None:
        if self._waiting:
            self._waiting.cancel()
            self._waiting = None
