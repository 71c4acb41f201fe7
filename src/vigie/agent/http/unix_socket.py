"""The agent's Unix socket, for commands on this machine: the kernel says who calls, no secret is needed."""

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

MODE = 0o666  # anybody on this machine may knock; whom we answer is decided by who it is
MAX_PATH_BYTES = 100  # bytes of a path: a socket's address has room for 108
CREDENTIALS = struct.Struct("3i")
PROBE_SECONDS = 1.0


class UnixPeer(NamedTuple):
    """Who is at the other end, as the kernel says."""

    uid: int
    pid: int = 0

    @property
    def is_owner(self) -> bool:
        """Tell whether it is root, or the user that the agent runs as."""
        return self.uid in (0, os.geteuid())

    @property
    def name(self) -> str:
        """Return the name of the user, or nothing when there is none."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return ""


class UnixSocketError(Exception):
    """There is no socket for commands; the message says why."""


LocalHandler = Callable[[Request, UnixPeer], Awaitable[Response]]


class UnixServer:
    """The socket in the file system, from its making to its removal."""

    def __init__(self, path: Path, server: asyncio.Server) -> None:
        self._path, self._server = path, server
        self._inode = path.stat().st_ino

    def close(self) -> None:
        """Listen no more, and remove the socket unless another has taken its place."""
        self._server.close()
        try:
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        except OSError:
            pass  # it is gone already


async def listen(handler: LocalHandler, path: Path) -> UnixServer:
    """Listen at a path, or raise CannotListen."""
    try:
        listener = _bind(path)
    except OSError as error:
        raise UnixSocketError(f"{path}: {error.strerror or error}") from None
    connections: set[HttpConnection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: _UnixConnection(handler, connections), sock=listener)
    return UnixServer(path, server)


def _bind(path: Path) -> socket.socket:
    """Return a socket that stands at the path at once with its right mode."""
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise UnixSocketError(f"{path} is too long for a socket; choose another: agent.socket")
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if _is_in_use(path):
        raise UnixSocketError(f"another agent answers at {path}")
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
    """Tell whether somebody listens there; only a socket that was left behind may be replaced."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise UnixSocketError(f"{path} is there, and is no socket")
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
    """A client of whom the kernel says who it is."""

    def __init__(self, handler: LocalHandler, connections: set[HttpConnection]) -> None:
        super().__init__(self._handle, connections)
        self._local, self._peer = handler, UnixPeer(-1)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless it cannot be told whose it is."""
        super().connection_made(transport)
        try:
            self._peer = get_peer(transport.get_extra_info("socket"))
        except OSError:
            self._refuse(BadRequestError(403, "the kernel does not say who you are"))

    async def _handle(self, request: Request) -> Response:
        return await self._local(request, self._peer)


def get_peer(connection: socket.socket) -> UnixPeer:
    """Return who is at the other end of a Unix socket."""
    pid, uid, _ = CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    )
    return UnixPeer(uid, pid)
