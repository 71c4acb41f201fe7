"""The socket of the server: on the address that was asked for, or on the next free port."""

from __future__ import annotations

import errno
import logging
import socket

from vigie.agent import ports
from vigie.agent.agent import split

log = logging.getLogger(__name__)

TRIES = 20  # ports


class CannotStart(Exception):
    """The server cannot run as asked; the message says why and what to type."""


def listening(listen: str) -> socket.socket:
    """Return a socket on the address, or on the next free port."""
    host, port = split(listen)
    taken = ""
    for offset in range(TRIES):
        try:
            bound = _bound(host, port + offset)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CannotStart(f"cannot listen on {host}:{port}: {_reason(error)}; see --listen") from None
            taken = taken or f"port {port} is taken by {ports.holder(port)}"
        else:
            if taken:
                log.warning("%s; port %d is used instead", taken, port + offset)
            return bound
    raise CannotStart(
        f"{taken}, and so are all up to {port + TRIES - 1}; choose another: --listen {host}:PORT"
    )


def address(bound: socket.socket, encrypted: bool) -> str:
    """Return where the socket is reached."""
    host, port = bound.getsockname()[:2]
    scheme = "https" if encrypted else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def on_this_machine(address: str) -> str:
    """Return where programs on this machine find a server that may listen everywhere."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _reason(error: OSError) -> str:
    """Return why; Python adds the address once more."""
    return (error.strerror or str(error)).partition(" (while attempting")[0]


def _bound(host: str, port: int) -> socket.socket:
    if port > 65535:
        raise OSError(errno.EADDRINUSE, "there are no more ports")
    bound = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    # Connections take it over; asyncio does not set it on these, and an answer would wait 40 ms.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound
