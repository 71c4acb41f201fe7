"""Unix socket for local commands. The kernel identifies the caller, so no secret is needed."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from vigie.agent.http.server import BadRequestError, HttpConnection, Request, Response
from vigie.common.unix_listen import BoundPath, bind_unix

MODE = 0o666  # any local user may connect; access is decided by uid
CREDENTIALS = struct.Struct("3i")


class UnixPeer(NamedTuple):
    """The other end of a connection, as reported by the kernel."""

    uid: int
    pid: int = 0

    @property
    def is_owner(self) -> bool:
        """Return whether it is root, or the user that the agent runs as."""
        return self.uid in (0, os.geteuid())

    @property
    def name(self) -> str:
        """Return the user name, or an empty string."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return ""


LocalHandler = Callable[[Request, UnixPeer], Awaitable[Response]]


class UnixServer:
    """The listening socket and its file."""

    def __init__(self, path: Path, server: asyncio.Server) -> None:
        self._place, self._server = BoundPath(path), server

    def close(self) -> None:
        """Stop listening, and remove the socket unless another process has replaced it."""
        self._server.close()
        self._place.remove()


async def listen(handler: LocalHandler, path: Path) -> UnixServer:
    """Listen at a path, or raise UnixSocketError."""
    listener = bind_unix(path, socket.SOCK_STREAM, MODE)
    connections: set[HttpConnection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: _UnixConnection(handler, connections), sock=listener)
    return UnixServer(path, server)


class _UnixConnection(HttpConnection):
    """A client identified by the kernel."""

    def __init__(self, handler: LocalHandler, connections: set[HttpConnection]) -> None:
        super().__init__(self._handle, connections)
        self._local, self._peer = handler, UnixPeer(-1)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, unless its user is unknown."""
        super().connection_made(transport)
        try:
            self._peer = get_peer(transport.get_extra_info("socket"))
        except OSError:
            self._refuse(BadRequestError(403, "the kernel does not report who you are"))

    async def _handle(self, request: Request) -> Response:
        return await self._local(request, self._peer)


def get_peer(connection: socket.socket) -> UnixPeer:
    pid, uid, _ = CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    )
    return UnixPeer(uid, pid)
