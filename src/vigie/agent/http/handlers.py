"""Handlers of /metrics, /status and /healthz."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Sequence

from vigie.agent.collector import Collector
from vigie.agent.http.exporter_ports import ExporterPort, MetricsView, UnknownCollectorError, parse_collectors
from vigie.agent.http.server import Handler, Request, Response
from vigie.agent.http.status import build_status
from vigie.agent.loop import Loop, OwnTable
from vigie.agent.metrics import AgentMetrics
from vigie.agent.source_reader import Outcome
from vigie.common.clock import Clock
from vigie.common.listen import LOOPBACK_NAMES
from vigie.model import Table
from vigie.model.table import TableValues
from vigie.wire import gzip
from vigie.wire.exposition.negotiation import accepts_gzip, choose_format
from vigie.wire.exposition.renderer import Format

# A source read within this many seconds is not read again for a scrape.
FRESH_SECONDS = 1.0
INDEX = b"""vigie agent
/metrics   metrics for Prometheus (?fresh also reads slow sources now)
/status    state, reason, cost and age of each source
/healthz   200 while the agent runs
"""


class Handlers:
    def __init__(
        self,
        node: str,
        collector: Collector,
        loop: Loop,
        clock: Clock,
        *,
        token: str | None,
        loopback: bool,
        tables: Sequence[OwnTable] = (),
    ) -> None:
        self._node = node
        self._collector = collector
        self._loop = loop
        self._clock = clock
        self._token = token
        self._loopback = loopback
        self._metrics_table = AgentMetrics(collector.readers)
        self._tables = tables
        self._view = MetricsView()
        self._refreshing: dict[bool, asyncio.Future[None]] = {}
        self._routes: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/": self._index,
            "/metrics": self._metrics,
            "/status": self._status,
            "/healthz": self._healthz,
        }

    async def answer(self, request: Request) -> Response:
        """Return the response, after checking access."""
        if request.path != "/healthz" and (refusal := self._check_access(request)):
            return refusal
        return await self.answer_owner(request)

    async def answer_owner(self, request: Request) -> Response:
        """Return the response without checking access."""
        route = self._routes.get(request.path)
        if route is None:
            return Response(404, b"not found: / lists the paths\n")
        return await route(request)

    def answer_as(self, exporter: ExporterPort) -> Handler:
        """Return what answers at another exporter's port."""
        view = MetricsView(exporter.prefixes)

        async def answer(request: Request) -> Response:
            if refusal := self._check_access(request):
                return refusal
            if request.path == "/":
                return Response(200, f"vigie agent in place of {exporter.name}: /metrics\n".encode())
            if request.path != "/metrics":
                return Response(404, b"Not found. Available: /metrics\n")
            return await self._metrics(request, view)

        return answer

    def _check_access(self, request: Request) -> Response | None:
        if self._token is not None:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
                why = b"scrape token required: Authorization: Bearer ...\n"
                return Response(401, why, headers=(("WWW-Authenticate", "Bearer"),))
        elif self._loopback and not _is_loopback(request.headers.get("host", "localhost")):
            # DNS rebinding: a web site can resolve its own name to 127.0.0.1 and read us through a browser.
            return Response(403, b"only localhost and 127.0.0.1 are allowed\n")
        return None

    def agent_table(self) -> tuple[Table, tuple[float, ...]]:
        values = self._metrics_table.values(self._clock.monotonic(), self._loop.frames)
        return values.table, values.numbers

    async def _index(self, _: Request) -> Response:
        return Response(200, INDEX)

    async def _healthz(self, _: Request) -> Response:
        return Response(200, b"ok\n")

    async def _status(self, _: Request) -> Response:
        document = build_status(self._node, self._collector.readers, self._clock.monotonic())
        return Response(200, json.dumps(document, indent=2).encode() + b"\n", "application/json")

    async def _metrics(self, request: Request, view: MetricsView | None = None) -> Response:
        try:
            collectors = parse_collectors(request.query, self._collector.readers)
        except (UnknownCollectorError, ValueError) as error:
            return Response(400, f"{error}\n".encode())
        await self._refresh(everything="fresh" in request.query.split("&"))
        form = choose_format(request.headers.get("accept", ""))
        body = self._render(form, view or self._view, collectors)
        headers: tuple[tuple[str, str], ...] = (("Vary", "Accept, Accept-Encoding"),)
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            body = gzip.compress(body)
            headers += (("Content-Encoding", "gzip"),)
        return Response(200, body, form.content_type, headers)

    async def _refresh(self, *, everything: bool) -> None:
        # Concurrent scrapes share one read.
        under_way = self._refreshing.get(everything)
        if under_way is not None:
            await under_way
            return
        under_way = self._refreshing[everything] = asyncio.get_running_loop().create_future()
        try:
            await self._read_stale(everything)
        finally:
            under_way.set_result(None)
            del self._refreshing[everything]

    async def _read_stale(self, everything: bool) -> None:
        readers = self._collector.readers
        if everything:
            await self._collector.refresh_all(readers)
            return
        before = self._clock.monotonic() - FRESH_SECONDS
        await self._collector.refresh_quick(
            reader
            for reader in readers
            # The loop looks for unavailable sources; a scrape does not.
            if reader.read_at <= before and reader.outcome is not Outcome.UNAVAILABLE
        )

    def _render(self, form: Format, view: MetricsView, collectors: frozenset[str] | None) -> bytes:
        self._metrics_table.scrapes += 1
        own = self._metrics_table.values(self._clock.monotonic(), self._loop.frames)
        more = [TableValues(*table()) for table in self._tables]
        text = view.render([*self._collector.values(), own, *more], form, collectors)
        return text.encode("utf-8", "replace")


def _is_loopback(host: str) -> bool:
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.lower() in LOOPBACK_NAMES
