"""The HTTP front: uvicorn with our bounds, which ends within seconds whoever is connected."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vigie.common.systemd import notify
from vigie.server.http.protocols import LinkProtocol, ServerProtocol
from vigie.server.http.responses import error_response
from vigie.wire.messages import MAX_MESSAGE

MAX_CONNECTIONS = 20_000  # agents stay connected
IDLE_SECONDS = 75
STOP_SECONDS = 3  # for what is under way to be finished, and for answers to be fetched
CANCEL_SECONDS = 2.0  # for what was cancelled then to end
STOPPED = error_response(503, "unavailable", "the server is being stopped")


class HttpServer(uvicorn.Server):
    """A uvicorn that leaves the signals to us, and waits for nobody at its end."""

    def __init__(self, app: ASGIApp, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(_config(_answer_cancelled(app)))
        self.config.load()
        self.config.ssl = tls
        self.stopping: asyncio.Future[None] | None = None

    @property
    def connections(self) -> int:
        return len(self.server_state.connections)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Listen no more, finish what is under way, and return from serve."""
        notify("STOPPING=1")
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: whoever is still there after a while is cut off, and what is still done is cancelled."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            if connection.transport:
                connection.transport.abort()
        if tasks := list(self.server_state.tasks):
            # What they hold, such as the processes of questions, is let go of before the store is closed.
            await asyncio.wait(tasks, timeout=CANCEL_SECONDS)


def _answer_cancelled(app: ASGIApp) -> ASGIApp:
    """Return the application; whom a stop leaves without an answer is told so."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await app(scope, receive, note)
        except asyncio.CancelledError:  # nobody but a stop does that
            if scope["type"] == "http" and not started:
                await STOPPED(scope, receive, send)

    return answer


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=ServerProtocol,
        ws=LinkProtocol,
        ws_per_message_deflate=False,
        ws_ping_interval=None,  # a link asks for itself, and its agent too
        ws_max_size=MAX_MESSAGE,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whom to believe about that is for access to say
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
