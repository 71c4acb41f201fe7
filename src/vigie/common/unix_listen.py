"""Unix sockets in the file system: created with their final mode, and never in place of one in use."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

MAX_PATH_BYTES = 100  # a socket address has room for 108
PROBE_SECONDS = 1.0


class UnixSocketError(Exception):
    """The socket cannot be used; the message says why."""


class BoundPath:
    """The file of a listener socket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = path.stat().st_ino

    def remove(self) -> None:
        """Remove the file unless another process has replaced it."""
        try:
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        except OSError:
            pass  # already removed


def bind_unix(path: Path, kind: socket.SocketKind, mode: int) -> socket.socket:
    """Return a socket that appears at the path with its final mode, or raise UnixSocketError."""
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise UnixSocketError(f"{path} is too long for a socket: set agent.socket")
    try:
        return _bind(path, kind, mode)
    except OSError as error:
        raise UnixSocketError(f"{path}: {error.strerror or error}") from None


def _bind(path: Path, kind: socket.SocketKind, mode: int) -> socket.socket:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if _is_in_use(path, kind):
        raise UnixSocketError(f"another agent listens on {path}")
    temporary = path.with_name(f".{os.getpid()}.{path.name}"[:40])
    temporary.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, kind)
    try:
        listener.bind(str(temporary))
        if kind == socket.SOCK_STREAM:
            listener.listen()
        temporary.chmod(mode)
        temporary.rename(path)
    except OSError:
        listener.close()
        temporary.unlink(missing_ok=True)
        raise
    return listener


def _is_in_use(path: Path, kind: socket.SocketKind) -> bool:
    """Return whether a process listens there. Only a stale socket may be replaced."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise UnixSocketError(f"{path} exists and is not a socket")
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, kind) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True
