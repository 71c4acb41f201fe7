"""Requests are counted by route and status, and logged: who, what, status, bytes, seconds."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from tests.server.asgi import call
from tests.server.known import known_secrets
from tests.server.route_table import stand_in
from tests.server.serving import TOKEN
from vigie.server.auth.authenticator import Authenticator
from vigie.server.auth.middleware import with_auth
from vigie.server.http.request_log import (
    CONNECTIONS,
    MAX_LINES,
    MAX_PATH,
    OTHER,
    REQUESTS,
    RUNNING,
    SECONDS,
    SENT,
    AccessLog,
    Traffic,
)

ADMIN = {"Authorization": f"Bearer {TOKEN}"}


async def _say(request: Request) -> Response:
    if request.url.path == "/federate":
        raise RuntimeError("a fault of ours")
    return PlainTextResponse("said")


class Scene:
    """An application that is watched, and what was logged of it."""

    def __init__(self, callers: Authenticator, caplog: pytest.LogCaptureFixture) -> None:
        paths = ("/healthz", "/metrics", "/federate", "/api/v1/labels", "/api/nodes/{name}")
        rows = (*paths, "POST /remove_node")
        self._routes = with_auth([stand_in(row, _say) for row in rows], callers)
        self._caplog, self.traffic, self.app = caplog, Traffic(), self._routes.__call__

    def logging(self, everything: bool) -> ASGIApp:
        self.traffic = Traffic(AccessLog(everything, lambda: 0.0))
        return self.traffic.watching(self._routes)

    @property
    def lines(self) -> list[str]:
        return [line.getMessage() for line in self._caplog.records if line.name == "vigie.access"]

    def counted(self) -> dict[tuple[str, ...], float]:
        table, numbers = self.traffic.table()
        pairs = zip(table.series, numbers, strict=True)
        return {(metric.name, *labels): number for (metric, labels), number in pairs}


@pytest.fixture
def scene(caplog: pytest.LogCaptureFixture) -> Iterator[Scene]:
    caplog.set_level(logging.INFO)
    with known_secrets(TOKEN) as secrets:
        yield Scene(Authenticator(secrets), caplog)


def test_requests_are_counted_by_route_and_status(scene: Scene) -> None:
    app = scene.logging(False)
    for path in ("/api/nodes/n1", "/api/nodes/n2", "/nowhere", "/nowhere/else"):
        call(app, "GET", path)
    call(app, "GET", "/api/nodes/n1", {"X-Forwarded-For": "10.0.0.1"})
    counted = scene.counted()
    assert counted[REQUESTS.name, "/api/nodes/{name}", "200"] == 2
    assert counted[REQUESTS.name, "/api/nodes/{name}", "401"] == 1
    assert counted[REQUESTS.name, OTHER, "404"] == 2
    assert counted[SENT.name, "/api/nodes/{name}"] > 2 * len("said")
    assert counted[SECONDS.name, OTHER] > 0
    assert (counted[RUNNING.name,], counted[CONNECTIONS.name,]) == (0, 0)


def test_table_keeps_its_version_until_there_is_more_to_tell(scene: Scene) -> None:
    app = scene.logging(False)
    versions = []
    for path in ("/healthz", "/healthz", "/metrics"):
        call(app, "GET", path)
        versions.append(scene.traffic.table()[0].version)
    assert versions == [1, 1, 2]


def test_log_tells_what_changed_was_refused_or_failed(scene: Scene) -> None:
    app = scene.logging(False)
    call(app, "GET", "/api/v1/labels")
    call(app, "POST", "/remove_node", ADMIN)
    call(app, "POST", "/remove_node")
    call(app, "GET", "/federate")
    assert [line.rsplit(" ", 4)[0] for line in scene.lines] == [
        "127.0.0.1 admin POST /remove_node 200",
        "127.0.0.1 - POST /remove_node 401",
        "127.0.0.1 (viewer) GET /federate 500",
    ]


def test_log_of_everything_leaves_out_health_checks_that_succeed(scene: Scene) -> None:
    app = scene.logging(True)
    for path in ("/healthz", "/metrics", "/api/v1/labels"):
        call(app, "GET", path)
    call(app, "GET", "/metrics", {"X-Forwarded-For": "10.0.0.1"})
    assert [line.rsplit(" ", 4)[0] for line in scene.lines] == [
        "127.0.0.1 (viewer) GET /api/v1/labels 200",
        "127.0.0.1 - GET /metrics 401",
    ]


def test_path_cannot_forge_a_line_and_a_query_is_not_logged(scene: Scene) -> None:
    app = scene.logging(True)
    call(app, "GET", "/a\n127.0.0.1 admin POST\x1b[2J?token=hidden")
    call(app, "GET", "/" + "x" * 10_000)
    first, second = scene.lines
    assert first.startswith(r"127.0.0.1 (viewer) GET /a\n127.0.0.1 admin POST\x1b[2J 404")
    assert "hidden" not in first
    assert len(second) < MAX_PATH + 100


def test_somebody_who_knocks_does_not_fill_the_disk(scene: Scene) -> None:
    seconds = iter([*[1.0] * (MAX_LINES + 50), 2.0])
    traffic = Traffic(AccessLog(False, lambda: next(seconds)))
    app = traffic.watching(scene.app)
    for _ in range(MAX_LINES + 51):
        call(app, "POST", "/remove_node")
    assert len(scene.lines) == MAX_LINES + 2
    assert "50 requests were not logged" in scene.lines[-2]
