"""Who holds a TCP port of this machine: which process, and whose it is."""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import socket
from pathlib import Path

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


log = logging.getLogger(__name__)

LISTENING = "0A"
TRIES = 20  # ports


class ListenError(Exception):
    """The server cannot run as asked; the message says why and what to type."""


def bind_or_next(listen: str) -> socket.socket:
    """Return a socket on the address, or on the next free port."""
    host, port = split_address(listen)
    taken = ""
    for offset in range(TRIES):
        try:
            bound = _bound(host, port + offset)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ListenError(f"cannot listen on {host}:{port}: {_reason(error)}; see --listen") from None
            taken = taken or f"port {port} is taken by {port_holder(port)}"
        else:
            if taken:
                log.warning("%s; port %d is used instead", taken, port + offset)
            return bound
    raise ListenError(
        f"{taken}, and so are all up to {port + TRIES - 1}; choose another: --listen {host}:PORT"
    )


def socket_url(bound: socket.socket, encrypted: bool) -> str:
    host, port = bound.getsockname()[:2]
    scheme = "https" if encrypted else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def local_url(address: str) -> str:
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


def port_holder(port: int, proc: Path = Path("/proc")) -> str:
    """Return "NAME (pid N)" of the process that listens on the port, as far as we may look."""
    for pid in sorted(port_processes(port, proc)):
        try:
            return f"{(proc / str(pid) / 'comm').read_text().strip()} (pid {pid})"
        except OSError:
            continue  # it ended meanwhile
    return "another process"


def port_processes(port: int, proc: Path = Path("/proc")) -> set[int]:
    """Return the processes that listen on the port, as far as we may look."""
    inodes = {f"socket:[{row[9]}]" for row in _listening(port, proc)}
    return {
        int(pid) for pid in filter(str.isdecimal, os.listdir(proc)) if inodes and _holds(proc / pid, inodes)
    }


def _holds(process: Path, inodes: set[str]) -> bool:
    try:
        return any(os.readlink(process / "fd" / each) in inodes for each in os.listdir(process / "fd"))
    except OSError:
        return False  # it ended meanwhile, or is not ours to look at


def port_owners(port: int, proc: Path = Path("/proc")) -> set[int]:
    """Return the uids of those who listen on the port; anybody may look at that."""
    return {int(row[7]) for row in _listening(port, proc)}


def _listening(port: int, proc: Path) -> list[list[str]]:
    rows = []
    for table in ("tcp", "tcp6"):
        try:
            rows += [line.split() for line in (proc / "net" / table).read_text().splitlines()[1:]]
        except OSError:
            continue  # a kernel without IPv6
    return [row for row in rows if row[1].endswith(f":{port:04X}") and row[3] == LISTENING]


def split_address(listen: str) -> tuple[str, int]:
    """Return host and port of an address; [::1]:9797 loses its brackets."""
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), int(port)


def is_loopback(listen: str) -> bool:
    """Tell whether only this machine can reach the address."""
    host, _ = split_address(listen)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
