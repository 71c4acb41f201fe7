"""One keep-alive connection to an exporter: small, bounded, and without a thread."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple, cast

import httptools

from vigie.server.scrape.networks import AddressNotAllowedError, ScrapeNetworks

try:  # twice as quick as zlib; it has no wheels for rarer processors
    from isal import isal_zlib as zlib
except ImportError:
    import zlib  # type: ignore[no-redef]

Resolve = Callable[[str, int], Awaitable[list[str]]]
MAX_HEAD = 64 << 10
GZIP = 31  # zlib's word for a gzip header


class ScrapeError(Exception):
    """No exposition came; the message says why."""


class ScrapeResponse(NamedTuple):
    """A body, and how its owner calls its format."""

    body: bytes
    content_type: str


class TargetAddress(NamedTuple):
    """Where an exporter listens, and under which name it answers there."""

    host: str
    port: int
    path: str
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    networks: ScrapeNetworks = ScrapeNetworks()


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class ScrapeClient:
    """Asks one exporter again and again; the caller sets the deadline, and `close`s after a missed one.

    Redirects are not followed: whoever is asked is the target, at an address that may be scraped.
    """

    def __init__(self, place: TargetAddress, most: int, resolve: Resolve = resolve) -> None:
        self._place, self._most, self._resolve = place, most, resolve
        self._connection: _Connection | None = None

    async def get(self, headers: Mapping[str, str]) -> ScrapeResponse:
        """Return what the exporter says, or raise FetchError; a stale connection is made anew once."""
        request = _request(self._place, headers)
        old = self._connection
        if old is not None and old.is_open:
            try:
                return await self._exchange(old, request)
            except _Closed:
                if old.has_answered:
                    raise ScrapeError("the connection was closed within the answer") from None
        try:
            return await self._exchange(await self._opened(), request)
        except _Closed as error:
            raise ScrapeError(str(error)) from None

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection:
            self._connection.abort()
            self._connection = None

    async def _opened(self) -> _Connection:
        try:
            addresses = await self._resolve(self._place.host, self._place.port)
            self._connection = await self._connected(self._place.networks.allowed(addresses))
        except AddressNotAllowedError as error:
            raise ScrapeError(str(error)) from None
        except (OSError, ValueError) as error:  # ValueError: a host name that cannot be one
            raise ScrapeError(f"cannot connect: {getattr(error, 'strerror', '') or error}") from None
        return self._connection

    async def _connected(self, addresses: Sequence[str]) -> _Connection:
        """Return a connection to the first address that answers; a name would be resolved once more."""
        place, failure = self._place, OSError("no address")
        for address in addresses:
            try:
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: _Connection(self._most),
                    address,
                    place.port,
                    ssl=place.tls,
                    server_hostname=(place.server_name or place.host) if place.tls else None,
                )
            except OSError as error:
                failure = error
            else:
                return connection
        raise failure

    async def _exchange(self, connection: _Connection, request: bytes) -> ScrapeResponse:
        try:
            answer = await connection.ask(request)
        except BaseException:
            self.close()
            raise
        if not connection.is_open:
            self._connection = None
        return _unpacked(answer, self._most)


class _Closed(Exception):
    """The other side closed the connection."""


class _Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class _Connection(asyncio.Protocol):
    """What httptools and asyncio call."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[_Reply] | None = None
        self.has_answered = False

    @property
    def is_open(self) -> bool:
        """Tell whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: bytes) -> _Reply:
        if not self.is_open:
            raise _Closed("the connection was closed")
        assert self._transport is not None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._length, self._in_body, self.has_answered = 0, False, False
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def abort(self) -> None:
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None or self._waiting.done():
            self.abort()  # nobody asked
            return
        self.has_answered = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            self._fail(ScrapeError(str(error.__context__ or error)))
        except httptools.HttpParserError as error:
            self._fail(ScrapeError(f"the answer is not HTTP: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """End what is under way; an answer without a length ends like this."""
        self._transport = None
        if self._waiting is None or self._waiting.done():
            return
        if exc is None and self._in_body and not self._has_length():
            self._finish()
        else:
            self._waiting.set_exception(_Closed(f"the connection was closed: {exc or 'no answer'}"))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._length += len(name) + len(value)
        if self._length > MAX_HEAD:
            raise ScrapeError(f"the head of the answer is larger than {MAX_HEAD} bytes")
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Note that the body comes next."""
        self._in_body = True

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > self._most:
            raise ScrapeError(f"the answer is larger than {self._most} bytes (scrape.body_megabytes)")

    def on_message_complete(self) -> None:
        if self._waiting and not self._waiting.done():
            self._finish()
            if not self._parser.should_keep_alive():
                self.abort()

    def _finish(self) -> None:
        assert self._waiting is not None
        self._waiting.set_result(_Reply(self._parser.get_status_code(), self._headers, bytes(self._body)))

    def _has_length(self) -> bool:
        return "content-length" in self._headers or "transfer-encoding" in self._headers

    def _fail(self, error: ScrapeError) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_exception(error)
        self.abort()


def _request(place: TargetAddress, headers: Mapping[str, str]) -> bytes:
    host = f"[{place.host}]" if ":" in place.host else place.host
    lines = [f"GET {place.path} HTTP/1.1", f"Host: {host}:{place.port}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\n" in line or "\r" in line for line in lines):
        raise ScrapeError("a header with a line break; does a secret's file hold more than one line?")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _unpacked(reply: _Reply, most: int) -> ScrapeResponse:
    if reply.status != HTTPStatus.OK:
        raise ScrapeError(f"server returned HTTP status {reply.status} {_phrase(reply.status)}".rstrip())
    encoding = reply.headers.get("content-encoding", "identity").lower()
    body = reply.body
    if encoding == "gzip":
        body = _gunzipped(body, most)
    elif encoding != "identity":
        raise ScrapeError("the answer has a content encoding that was not asked for")
    return ScrapeResponse(body, reply.headers.get("content-type", ""))


def _gunzipped(packed: bytes, most: int) -> bytes:
    machine = zlib.decompressobj(GZIP)
    try:
        body: bytes = machine.decompress(packed, most + 1)
    except zlib.error as error:  # type: ignore[misc]
        raise ScrapeError(f"the answer is not gzip: {error}") from None
    if len(body) > most:
        raise ScrapeError(f"the answer is larger than {most} bytes (scrape.body_megabytes)")
    if not machine.eof or machine.unused_data:
        raise ScrapeError("the answer is not one whole gzip file")
    return body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
