"""The sockets that trainers poll: one abstract, and one in each directory that containers share.

A trainer dies of a reply that it cannot place, so the rules are strict: one reply for each request, at once,
from the bound socket that was asked, and none to a sender whose address does not begin with our directory.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from vigie.trace.kineto.datagrams import (
    MAX_DATAGRAM_BYTES,
    Context,
    Poll,
    decode_datagram,
    encode_config,
    encode_context_count,
)
from vigie.trace.kineto.trainers import Assignment, Trainer, TrainerRegistry

log = logging.getLogger(__name__)

NAME = "dynolog"  # the name that libkineto looks for
CLIENT_PREFIX = "dynoconfigclient"
MAX_DIRECTORY_LENGTH = 54  # with a longer one a trainer overruns its own address
DATAGRAMS_PER_WAKE = 128
RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
MAX_STALE_CHECKED = 1000
MAX_CONTEXTS = 1024
_CREDENTIALS = struct.Struct("3i")

FetchListener = Callable[[Trainer, Assignment], None]


class KinetoIpcError(Exception):
    """The socket cannot be had; the message says why."""


class KinetoIpc:
    """Answers trainers on one socket."""

    def __init__(
        self,
        registry: TrainerRegistry,
        directory: str | None = None,
        *,
        on_fetch: FetchListener | None = None,
        name: str = NAME,
    ) -> None:
        self._registry, self._directory, self._on_fetch = registry, directory, on_fetch
        # The NUL at the end is part of an abstract name.
        self._address = f"\0{name}\0" if directory is None else f"{directory}/{name}"
        self._contexts: set[tuple[int, int, int]] = set()
        self._socket: socket.socket | None = None
        self.ignored = 0  # datagrams that no trainer sends, and trainers that must not be answered
        self.misplaced: str | None = None  # the directory as a trainer sees it, where it is not ours

    def open(self) -> None:
        """Bind, or raise KinetoIpcError."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            self._bind(sock)
        except OSError as error:
            sock.close()
            raise KinetoIpcError(self._explain(error)) from None
        except KinetoIpcError:
            sock.close()
            raise
        self._socket = sock

    def serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer from now on."""
        assert self._socket is not None
        loop.add_reader(self._socket.fileno(), self.handle_datagrams)

    def close(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        if self._socket is None:
            return
        if loop is not None:
            loop.remove_reader(self._socket.fileno())
        self._socket.close()
        self._socket = None
        if self._directory is not None:
            Path(self._address).unlink(missing_ok=True)

    def handle_datagrams(self) -> None:
        """Answer what has arrived, some at a time."""
        assert self._socket is not None
        for _ in range(DATAGRAMS_PER_WAKE):
            try:
                data, ancillary, _, address = self._socket.recvmsg(
                    MAX_DATAGRAM_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size)
                )
            except OSError:  # nothing more, or a signal: the loop calls again
                return
            self._handle(data, _read_credentials(ancillary), address)

    def remove_stale_clients(self) -> int:
        """Remove the sockets that dead trainers left in the directory, and return how many."""
        if self._directory is None:
            return 0
        removed = 0
        with os.scandir(self._directory) as entries:
            for checked, entry in enumerate(entries):
                if checked >= MAX_STALE_CHECKED:
                    break
                if entry.name.startswith(CLIENT_PREFIX) and _is_dead_socket(entry):
                    Path(entry.path).unlink(missing_ok=True)
                    removed += 1
        return removed

    def _bind(self, sock: socket.socket) -> None:
        if self._directory is None:
            sock.bind(self._address)
            return
        if len(self._directory) > MAX_DIRECTORY_LENGTH:
            raise KinetoIpcError(
                f"{self._directory}: trainers take at most {MAX_DIRECTORY_LENGTH} characters of directory"
            )
        if _is_listening(self._address):
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        if stat.S_ISSOCK(_mode_of(self._address)):
            os.unlink(self._address)
        sock.bind(self._address)
        os.chmod(self._address, 0o666)  # noqa: S103 - trainers of every user send here

    def _explain(self, error: OSError) -> str:
        where = self._directory or "the abstract socket"
        if error.errno == errno.EADDRINUSE:
            return f"{where}: another daemon (dynolog or a second agent) serves trainers here"
        return f"{where}: {error.strerror or error}"

    def _handle(self, data: bytes, sender: tuple[int, int], address: object) -> None:
        message = decode_datagram(data)
        endpoint = _encode_address(address)
        if message is None or not endpoint or not self._is_ours(endpoint):
            self.ignored += 1
            return
        if isinstance(message, Context):
            self._reply(encode_context_count(self._count_context(message)), endpoint)
        else:
            self._answer_poll(message, sender, endpoint)

    def _is_ours(self, endpoint: bytes) -> bool:
        """Return whether the sender can place a reply from here: it compares the beginning of our address."""
        if self._directory is None:
            return endpoint.startswith(b"\0")
        if endpoint.startswith(os.fsencode(self._directory) + b"/"):
            return True
        self.misplaced = os.fsdecode(os.path.dirname(endpoint))
        return False

    def _answer_poll(self, poll: Poll, sender: tuple[int, int], endpoint: bytes) -> None:
        pid, uid = sender
        # A pid of 0 is a process outside our pid namespace: it is known by its own word alone.
        trainer = self._registry.record_poll(pid or -poll.pids[0], uid, poll, endpoint)
        assignment = self._registry.choose_config(trainer) if trainer is not None else None
        was_sent = self._reply(encode_config(assignment.text if assignment else ""), endpoint)
        if trainer is not None and assignment is not None and was_sent:
            self._registry.mark_fetched(trainer, assignment)
            if self._on_fetch is not None:
                self._on_fetch(trainer, assignment)

    def _reply(self, datagram: bytes, endpoint: bytes) -> bool:
        assert self._socket is not None
        try:
            return self._socket.sendto(datagram, endpoint) == len(datagram)
        except OSError:  # gone or its queue is full: it polls again
            return False

    def _count_context(self, context: Context) -> int:
        if len(self._contexts) >= MAX_CONTEXTS:
            self._contexts.clear()
        self._contexts.add((context.job_id, context.gpu, context.pid))
        return sum(c[:2] == (context.job_id, context.gpu) for c in self._contexts)


def _read_credentials(ancillary: Sequence[tuple[int, int, bytes]]) -> tuple[int, int]:
    """Return pid and uid of the sender, as the kernel gives them."""
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS) and len(data) >= _CREDENTIALS.size:
            pid, uid, _ = _CREDENTIALS.unpack_from(data)
            return pid, uid
    return 0, -1


def _encode_address(address: object) -> bytes:
    if isinstance(address, bytes):
        return address
    return os.fsencode(address) if isinstance(address, str) else b""


def _mode_of(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _is_listening(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


def _is_dead_socket(entry: os.DirEntry[str]) -> bool:
    return stat.S_ISSOCK(_mode_of(entry.path)) and not _is_listening(entry.path)
