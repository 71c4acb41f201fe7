"""A keep-alive HTTP connection whose every request has a deadline and whose every answer is bounded."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

from vigie.common.endpoint import Endpoint

MAX_ANSWER = 64 << 20


class UnreachableError(Exception):
    """No answer: the message says what happened to the connection."""


class DeadlineError(UnreachableError):
    """No whole answer before the deadline."""


class ResponseTooLargeError(UnreachableError):
    """An answer larger than allowed."""


class HttpResponse(NamedTuple):
    """An answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """One connection to a peer, opened when needed; not for several threads at once."""

    def __init__(self, target: Endpoint, seconds: float, most: int = MAX_ANSWER) -> None:
        self._target = target
        self._seconds = seconds
        self._most = most
        self._connection: http.client.HTTPConnection | None = None
        self._used = False

    def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        """Return the answer to one request, or raise Unreachable; a stale connection is made anew once."""
        end = time.monotonic() + self._seconds
        try:
            every = {**self._target.request_headers(), **(headers or {})}
        except OSError as error:
            raise UnreachableError(f"cannot read a secret: {error}") from None
        while True:
            again = self._used
            try:
                return self._exchange(method, path, body, every, end)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.close()
                if time.monotonic() >= end:
                    raise DeadlineError(f"no answer within {self._seconds:g} s") from None
                # Peers close idle connections, which shows only when the next request is sent.
                if not again or isinstance(error, TimeoutError):
                    raise UnreachableError(str(error) or type(error).__name__) from None
            except UnreachableError:
                self.close()
                raise

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        connection, self._connection, self._used = self._connection, None, False
        if connection:
            connection.close()

    def abort(self) -> None:
        """End a request that another thread is waiting for."""
        if self._connection:
            _cut(self._connection)

    def _exchange(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], end: float
    ) -> HttpResponse:
        connection = self._connection = self._connection or self._opened()
        # A time-out of the socket is for each read; only closing it ends an answer that drips.
        watch = threading.Timer(max(0.0, end - time.monotonic()), _cut, [connection])
        watch.daemon = True
        watch.start()
        try:
            connection.request(method, path, body or None, dict(headers))
            answer = connection.getresponse()
            content = answer.read(self._most + 1)
            if len(content) > self._most:
                raise ResponseTooLargeError(f"an answer of more than {self._most} bytes")
            if time.monotonic() >= end:
                raise DeadlineError(f"no whole answer within {self._seconds:g} s")
            if answer.length:
                raise http.client.IncompleteRead(content, answer.length)
        finally:
            watch.cancel()
        self._used = not answer.will_close
        if answer.will_close:
            self.close()
        return HttpResponse(
            answer.status, {name.lower(): value for name, value in answer.getheaders()}, content
        )

    def _opened(self) -> http.client.HTTPConnection:
        parts = self._target.parts()
        host = parts.hostname or ""
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, parts.port, timeout=self._seconds)
        return _TlsConnection(host, parts.port, self._target, self._seconds)


class _TlsConnection(http.client.HTTPSConnection):
    """TLS that may ask for another name than the address has."""

    def __init__(self, host: str, port: int | None, target: Endpoint, seconds: float) -> None:
        self._ours = target.tls.context()
        super().__init__(host, port, timeout=seconds, context=self._ours)
        self._name = target.tls.server_name or host

    def connect(self) -> None:
        """Connect, and shake hands under the name that was asked for."""
        http.client.HTTPConnection.connect(self)
        self.sock = self._ours.wrap_socket(self.sock, server_hostname=self._name)


def _cut(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed already
