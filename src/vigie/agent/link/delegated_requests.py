"""Requests of local users that the server answers over the link."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from websockets.exceptions import WebSocketException

from vigie.wire.messages import DelegatedRequest, DelegatedResponse

TIMEOUT_SECONDS = 125.0  # longer than the query timeout
MAX_RUNNING = 4  # half the server's limit per link, as requests given up here may still run there
MAX_WAITING = 32

Send = Callable[[DelegatedRequest], Awaitable[None]]


class DelegatedRequests:
    """Sends requests and matches responses to them."""

    def __init__(self, seconds: float = TIMEOUT_SECONDS) -> None:
        self._seconds = seconds
        self._send: Send | None = None
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[tuple[int, bytes]]] = {}
        self._slots = asyncio.Semaphore(MAX_RUNNING)
        self._waiting = 0

    def connect(self, send: Send) -> None:
        """Use this connection from now on."""
        self._send = send

    def disconnect(self) -> None:
        """Fail the pending requests."""
        self._send = None
        for answer in self._pending.values():
            if not answer.done():
                answer.set_result((503, b"connection to the server lost\n"))

    def resolve(self, message: DelegatedResponse) -> None:
        """Pass a response on. One that is no longer awaited is dropped."""
        answer = self._pending.get(message.number)
        if answer and not answer.done():
            answer.set_result((message.status, message.body))

    async def request(self, user: str, target: str) -> tuple[int, bytes]:
        """Return status and body of the server's response."""
        if self._waiting >= MAX_WAITING:
            return 503, b"too many requests\n"
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds), self._slots:
                return await self._request(user, target)
        except TimeoutError:
            return 504, f"the server did not respond within {self._seconds:g}s\n".encode()
        finally:
            self._waiting -= 1

    async def _request(self, user: str, target: str) -> tuple[int, bytes]:
        if self._send is None:
            return 503, b"not connected to the server\n"
        number = next(self._numbers)
        self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(DelegatedRequest(number, user, target))
            return await self._pending[number]
        except (OSError, WebSocketException) as error:
            return 503, f"connection to the server lost: {error}\n".encode()
        finally:
            del self._pending[number]
