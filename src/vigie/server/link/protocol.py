"""A WebSocket of uvicorn with bounds: on what waits to be fetched by us, and on how long the agent may take.

As it comes, it stops reading at each message and begins again when that is fetched: two calls of the
kernel for each frame. And it waits for ever for somebody who does not fetch what we say.
"""

from __future__ import annotations

import asyncio

from uvicorn._types import ASGIReceiveEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from vigie.server.connection import ANSWER_SECONDS

AHEAD = 64 << 10  # bytes that may wait before reading stops


class LinkProtocol(WebSocketsSansIOProtocol):
    """Stops reading when so many bytes wait for the application, and cuts off who does not read."""

    answer_seconds = ANSWER_SECONDS
    _waiting = 0
    _cutting: asyncio.TimerHandle | None = None

    def send_receive_event_to_app(self) -> None:
        """Hand a message over."""
        self._waiting += sum(map(len, self.frames))
        paused, goes_on = self.read_paused, self._waiting < AHEAD
        self.read_paused = paused or goes_on  # what is paused already is not paused again
        super().send_receive_event_to_app()
        if goes_on:
            self.read_paused = paused

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next message."""
        message = await super().receive()
        if self.queue.empty():
            self._waiting = 0
        return message

    def pause_writing(self) -> None:
        """Wait so long for the agent to fetch what was said."""
        super().pause_writing()
        self._cutting = self.loop.call_later(self.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it is fetched, or nearly."""
        self._rest()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the agent."""
        self._rest()
        super().connection_lost(exc)

    def _rest(self) -> None:
        if self._cutting:
            self._cutting.cancel()
            self._cutting = None
