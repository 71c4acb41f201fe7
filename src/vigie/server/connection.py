"""An HTTP connection of uvicorn with bounds: on a head's length, and on the time it and an answer take."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_URL = 64 << 10
MAX_HEAD = 128 << 10
HEAD_SECONDS = 30.0
ANSWER_SECONDS = 300.0  # for an answer to be fetched: until then it takes memory


class HeadTooLong(Exception):
    """A head that is longer than any honest one; the parser makes a 400 of it."""


class Connection(HttpToolsProtocol):
    """Cuts off who sends an endless head, or one a byte at a time, or does not fetch the answer."""

    _waiting: asyncio.TimerHandle | None = None
    _length = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, and wait so long for its first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._rest()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait so long for the head of the request."""
        super().on_message_begin()
        self._length = 0
        self._wait()

    def on_url(self, url: bytes) -> None:
        """Collect the address."""
        super().on_url(url)
        if len(self.url) > MAX_URL:
            raise HeadTooLong

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header."""
        self._length += len(name) + len(value)
        if self._length > MAX_HEAD:
            raise HeadTooLong
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Wait no more: the body has a deadline of its own."""
        self._rest()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """Wait so long for the client to fetch its answer."""
        super().pause_writing()
        self._wait(ANSWER_SECONDS)

    def resume_writing(self) -> None:
        """Go on: the answer is fetched, or nearly."""
        self._rest()
        super().resume_writing()

    def _wait(self, seconds: float = HEAD_SECONDS) -> None:
        self._rest()
        self._waiting = self.loop.call_later(seconds, self.transport.abort)

    def _rest(self) -> None:
        if self._waiting:
            self._waiting.cancel()
            self._waiting = None
