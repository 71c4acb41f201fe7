"""Listens for dynolog's calls; off unless it is asked for."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable

from vigie.trace.dyno.framing import FramingError, encode_message, read_message
from vigie.trace.dyno.peer import find_peer_uid

log = logging.getLogger(__name__)

READ_SECONDS = 5.0
CALL_SECONDS = 30.0
MAX_CONNECTIONS = 32
LOOPBACK_ADDRESSES = ("127.0.0.1", "::1")  # `dyno` tries only the first address of localhost

Handler = Callable[[object, int | None], Awaitable[dict[str, object] | None]]


class DynoServer:
    """Answers one call a connection; a slow or garbled caller costs only itself."""

    def __init__(self, handle: Handler, addresses: tuple[str, ...], port: int) -> None:
        self._handle, self._addresses, self._port = handle, addresses, port
        self._servers: list[asyncio.Server] = []
        self._open = 0

    @property
    def port(self) -> int:
        return int(self._servers[0].sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Listen on every address that this machine has, or raise OSError where there is none."""
        failure: OSError | None = None
        port = self._port
        for address in self._addresses:
            try:
                server = await asyncio.start_server(self._serve, sock=_bind(address, port))
            except OSError as error:
                failure = error
                continue
            self._servers.append(server)
            port = port or self.port
        if not self._servers and failure is not None:
            raise failure

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= MAX_CONNECTIONS:
                await self._answer(reader, writer)
        except (FramingError, TimeoutError, ConnectionError) as error:
            log.debug("a call was dropped: %s", error or "too slow")
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await asyncio.wait_for(read_message(reader), READ_SECONDS)
        uid = await asyncio.to_thread(
            find_peer_uid, writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        )
        answer = await asyncio.wait_for(self._handle(request, uid), CALL_SECONDS)
        if answer is not None:
            writer.write(encode_message(answer))
            await asyncio.wait_for(writer.drain(), READ_SECONDS)


def _bind(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # `::` takes callers of both families, as dynolog does.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(address != "::"))
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock
