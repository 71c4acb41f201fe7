"""Unix socket for local commands. The kernel identifies the caller, so no secret is needed."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import stat
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from vigie.agent.http.server import BadRequestError, HttpConnection, Request, Response

MODE = 0o666  # any local user may connect; access is decided by uid
MAX_PATH_BYTES = 100  # bytes: a socket address has room for 108
CREDENTIALS = struct.Struct("3i")
PROBE_SECONDS = 1.0


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


class UnixSocketError(Exception):
    """The socket cannot be used; the message says why."""


LocalHandler = Callable[[Request, UnixPeer], Awaitable[Response]]


class UnixServer:
    """The listening socket and its file."""

    def __init__(self, path: Path, server: asyncio.Server) -> None:
        self._path, self._server = path, server
        self._inode = path.stat().st_ino

    def close(self) -> None:
        """Stop listening, and remove the socket unless another process has replaced it."""
        self._server.close()
        try:
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        except OSError:
            pass  # already removed


async def listen(handler: LocalHandler, path: Path) -> UnixServer:
    """Listen at a path, or raise UnixSocketError."""
    try:
        listener = _bind(path)
    except OSError as error:
        raise UnixSocketError(f"{path}: {error.strerror or error}") from None
    connections: set[HttpConnection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: _UnixConnection(handler, connections), sock=listener)
    return UnixServer(path, server)


def _bind(path: Path) -> socket.socket:
    """Return a listening socket that appears at the path with its final mode."""
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise UnixSocketError(f"{path} is too long for a socket: set agent.socket")
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if _is_in_use(path):
        raise UnixSocketError(f"another agent listens on {path}")
    temporary = path.with_name(f".{os.getpid()}.{path.name}"[:40])
    temporary.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(temporary))
        listener.listen()
        temporary.chmod(MODE)
        temporary.rename(path)
    except OSError:
        listener.close()
        temporary.unlink(missing_ok=True)
        raise
    return listener


def _is_in_use(path: Path) -> bool:
    """Return whether a process listens there. Only a stale socket may be replaced."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise UnixSocketError(f"{path} exists and is not a socket")
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True


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
