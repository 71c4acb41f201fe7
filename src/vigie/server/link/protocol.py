"""A WebSocket of uvicorn that reads on while messages wait, within bounds.

As it comes, it stops reading at each message and begins again when that is fetched: two calls of the
kernel for each frame.
"""

from __future__ import annotations

from uvicorn._types import ASGIReceiveEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

AHEAD = 64 << 10  # bytes that may wait before reading stops


class LinkProtocol(WebSocketsSansIOProtocol):
    """Stops reading when so many bytes wait for the application."""

    _waiting = 0

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
