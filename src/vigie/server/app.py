"""The routes of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from starlette.routing import BaseRoute

from vigie.query.limits import QueryLimits
from vigie.server.api.dashboards import dashboard_routes
from vigie.server.api.health import health_routes
from vigie.server.api.pages import PageRoutes
from vigie.server.api.prometheus.operations import BOTH, WRITER, build_routes
from vigie.server.api.prometheus.queries import Queries, now_ms
from vigie.server.api.prometheus.remote_backend import (
    PATHS,
    BackendRoutes,
    RemoteBackend,
    WriteForwarder,
    refuse_write,
)
from vigie.server.api.prometheus.status import Status
from vigie.server.api.prometheus.targets import NOTHING_SCRAPED, ActiveTargets
from vigie.server.auth.authenticator import Authenticator
from vigie.server.auth.middleware import AuthMiddleware, with_auth
from vigie.server.http.requests import MAX_FORM
from vigie.server.http.routes import PROGRAMS
from vigie.server.ingest.metadata import MetricMetadata
from vigie.server.ingest.remote_write import Write, WriteRoute
from vigie.server.metrics import ServerMetrics
from vigie.server.pages.cluster_state import EmptyClusterState
from vigie.server.pages.query_batch import RemoteRunner
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.privacy.redacted_storage import RedactedExecutor
from vigie.server.query_executor import QueryWork
from vigie.server.web_app import web_app_routes


class AppParts(NamedTuple):
    """What the routes need."""

    readers: QueryWork
    write: Write
    own: ServerMetrics
    callers: Authenticator
    limits: QueryLimits = QueryLimits()
    flags: Mapping[str, str] = {}
    retention: str = ""
    clock: Callable[[], int] = now_ms
    targets: ActiveTargets = NOTHING_SCRAPED
    families: Callable[[], Mapping[str, MetricMetadata]] = dict
    more: Sequence[BaseRoute] = ()
    reasons: Callable[[], list[str]] = list  # why the server cannot do its work


def build(parts: AppParts) -> AuthMiddleware:
    """Return the application over the embedded store."""
    readers = RedactedExecutor(parts.readers) if parts.callers.privacy.hides else parts.readers
    queries = Queries(readers, parts.limits, parts.own, parts.clock)
    status = Status(readers, parts.own, parts.flags, parts.retention, parts.clock, parts.families)
    routes: list[BaseRoute] = [
        *queries.routes(),
        *status.routes(),
        *build_routes({"targets": parts.targets.answer}, access=PROGRAMS),
        *build_routes({"write": WriteRoute(parts.write).answer}, ("POST",), WRITER),
        *health_routes(parts.own, parts.reasons),
        *dashboard_routes(),
        *parts.more,
    ]
    return with_auth(routes, parts.callers)


def build_remote(
    reading: BackendRoutes, writing: WriteForwarder | None, own: ServerMetrics, callers: Authenticator
) -> AuthMiddleware:
    """Return the application over an engine elsewhere."""
    forward = RemoteBackend(reading, MAX_FORM).answer
    routes = build_routes(dict.fromkeys(PATHS, forward), BOTH) + build_routes({"/federate": forward})
    routes += build_routes({"write": writing.answer if writing else refuse_write}, ("POST",), WRITER)
    pages = PageRoutes(SnapshotCache(RemoteRunner(reading), EmptyClusterState(), now_ms))
    return with_auth(
        [*routes, *health_routes(own, list), *dashboard_routes(), *pages.routes(), *web_app_routes()], callers
    )
