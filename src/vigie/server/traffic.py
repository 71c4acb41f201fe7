"""What goes in and out over HTTP: every request is counted, and logged where that is wanted."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vigie.model import Table, counter, gauge
from vigie.server.access.roles import ROUTE
from vigie.server.access_log import AccessLog, Request

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


class Traffic:
    """Counts requests by route and status; both are few, whatever is asked for."""

    def __init__(self, log: AccessLog | None = None) -> None:
        self.connections: Callable[[], int] = lambda: 0
        self._log = log
        self._running = 0
        self._requests: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._sent: defaultdict[str, int] = defaultdict(int)
        self._table = Table("requests", 0, ())

    def watching(self, app: ASGIApp) -> ASGIApp:
        """Return the application, watched."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            begun = time.perf_counter()
            status, size = LEFT, 0

            async def noting(message: Message) -> None:
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
                await app(scope, receive, noting)
            finally:
                self._running -= 1
                self._note(scope, status, size, time.perf_counter() - begun)

        return watched

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
        return self._table, (*requests.values(), *spent, *sent.values(), self._running, self.connections())

    def _note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        route = scope.get(ROUTE) or OTHER
        self._requests[route, str(status)] += 1
        self._seconds[route] += seconds
        self._sent[route] += size
        if self._log:
            self._log.note(Request(scope, status, size, seconds))
