"""The access log: who asked for what, and what became of it; never with a query, which may hold secrets."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vigie.common.logs import FIELDS, plain_text
from vigie.model import Table, counter, gauge
from vigie.server.http.requests import IDENTITY
from vigie.server.http.routes import ACCESS, ROUTE

OTHER = "other"  # the route of a request for which there is none
LEFT = 499  # the status of a request whose client did not wait for the answer
METRICS = (
    REQUESTS := counter("vigie_server_requests_total", "Requests answered over HTTP.", "route", "status"),
    SECONDS := counter(
        "vigie_server_request_seconds_total",
        "Time from the head of requests to the end of their answers.",
        "route",
    ),
    SENT := counter("vigie_server_sent_bytes_total", "Bytes of answers, as they were sent.", "route"),
    RUNNING := gauge(
        "vigie_server_requests_running", "Requests that are being answered, open links among them."
    ),
    CONNECTIONS := gauge("vigie_server_connections", "Open connections, those of links among them."),
)
log = logging.getLogger("vigie.access")
QUIET = ("/healthz", "/readyz", "/-/healthy", "/-/ready", "/metrics")  # asked for all the time
REFUSED = (401, 403, 429)
MAX_LINES = 100  # lines a second: somebody who knocks must not fill the disk
MAX_PATH = 300  # letters of a path


class Traffic:
    """Counts requests by route and status; both are few, whatever is asked for."""

    def __init__(self, log: AccessLog | None = None, connections: Callable[[], int] = lambda: 0) -> None:
        self._log, self._connections = log, connections
        self._running = 0
        self._requests: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._sent: defaultdict[str, int] = defaultdict(int)
        self._table = Table("requests", 0, ())

    def watching(self, app: ASGIApp) -> ASGIApp:
        async def count(scope: Scope, receive: Receive, send: Send) -> None:
            started = time.perf_counter()
            status, size = LEFT, 0

            async def note(message: Message) -> None:
                nonlocal status, size
                kind = message["type"]
                if kind in ("http.response.start", "websocket.http.response.start"):
                    status = message["status"]
                elif kind == "websocket.accept":
                    status = 101
                size += len(message.get("body") or message.get("bytes") or b"")
                await send(message)

            self._running += 1
            try:
                await app(scope, receive, note)
            finally:
                self._running -= 1
                self._note(scope, status, size, time.perf_counter() - started)

        return count

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return the table as of now; it grows with the routes that were asked for."""
        requests, seconds, sent = dict(self._requests), dict(self._seconds), dict(self._sent)
        series = (
            *((REQUESTS, labels) for labels in requests),
            *((SECONDS, (route,)) for route in seconds),
            *((SENT, (route,)) for route in sent),
            (RUNNING, ()),
            (CONNECTIONS, ()),
        )
        if series != self._table.series:
            self._table = Table(self._table.source, self._table.version + 1, series)
        spent = (round(value, 6) for value in seconds.values())
        return self._table, (*requests.values(), *spent, *sent.values(), self._running, self._connections())

    def _note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        route = scope.get(ROUTE) or OTHER
        self._requests[route, str(status)] += 1
        self._seconds[route] += seconds
        self._sent[route] += size
        if self._log:
            self._log.note(LoggedRequest(scope, status, size, seconds))


class LoggedRequest(NamedTuple):
    scope: Scope
    status: int
    size: int
    seconds: float

    @property
    def method(self) -> str:
        """Return its method; a link has none of its own."""
        return str(self.scope.get("method", "WEBSOCKET"))

    @property
    def matters(self) -> bool:
        """Tell whether it changes something, was refused or failed."""
        if self.status in REFUSED or self.status >= 500:
            return True
        return self.scope.get(ROUTE) is not None and self.scope[ACCESS].changes


class AccessLog:
    """Logs requests: those that matter, or all."""

    def __init__(self, everything: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._everything, self._clock = everything, clock
        self._second, self._lines = 0, 0

    def note(self, request: LoggedRequest) -> None:
        """Log a request if it is wanted and there is room."""
        wanted = self._everything and request.scope.get(ROUTE) not in QUIET
        if (wanted or request.matters) and log.isEnabledFor(logging.INFO) and self._take_line():
            _log_request(request)

    def _take_line(self) -> bool:
        second = int(self._clock())
        if second != self._second:
            if self._lines > MAX_LINES:
                log.warning("%d requests were not logged, as there were too many", self._lines - MAX_LINES)
            self._second, self._lines = second, 0
        self._lines += 1
        return self._lines <= MAX_LINES


def _log_request(request: LoggedRequest) -> None:
    scope = request.scope
    who, client = _who(scope), scope.get("client") or ("-", 0)
    path = plain_text(scope["path"][:MAX_PATH])
    fields = {
        "client": client[0],
        "who": who,
        "method": request.method,
        "path": path,
        "status": request.status,
        "bytes": request.size,
        "seconds": round(request.seconds, 6),
    }
    log.info("%s %s %s %s %d %d B %.3f s", *fields.values(), extra={FIELDS: fields})


def _who(scope: Scope) -> str:
    identity = scope.get(IDENTITY)
    if identity is None:
        return "-"
    return plain_text(identity.name) or f"({identity.role})"
