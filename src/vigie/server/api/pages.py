"""/api/pages/*, /api/findings, /api/search."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from vigie.findings.core.registry import all_findings
from vigie.query.errors import BadDataError
from vigie.server.http.requests import Parameters, read_parameters
from vigie.server.http.responses import (
    GZIP_MAGIC,
    Handler,
    error_response,
    maybe_gzip,
    respond,
    respond_with_etag,
    wants_gzip,
)
from vigie.server.http.routes import JSON, QUERY_ERRORS, TIME, ApiRoute, Operation, Parameter
from vigie.server.pages.cluster_page import build_cluster_page, summarize_incidents
from vigie.server.pages.gpu_page import build_gpu_page
from vigie.server.pages.incident_rows import IncidentRows
from vigie.server.pages.job_page import STATES, build_job_page, build_jobs_page
from vigie.server.pages.node_page import build_node_page, build_nodes_page
from vigie.server.pages.search import search
from vigie.server.pages.snapshot import Snapshot
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.user_page import build_user_page, build_users_page
from vigie.server.pages.widgets import build_verdict, qualify
from vigie.server.privacy.redactor import Redactor, current_pseudonyms
from vigie.wire.api.pages import (
    ClusterPage,
    GpuPage,
    IncidentsPage,
    JobPage,
    JobsPage,
    NodePage,
    NodesPage,
    Page,
    UserPage,
    UsersPage,
)
from vigie.wire.api.resources import FindingList, FindingSummary, SearchResults

P = TypeVar("P", bound=Page)
BuildPage = Callable[[], Page]
DAY_MS = 86_400_000
MAX_EVENTS = 500
MAX_LETTERS = 200  # of a search
AT = Parameter("at", "As of then: seconds since 1970, or RFC 3339; by default now.", TIME)


class SharedResponses:
    """Keeps the pages of each snapshot for as long as the snapshot is stored."""

    def __init__(self) -> None:
        self._tasks: WeakKeyDictionary[Snapshot, dict[tuple[str, bool], asyncio.Task[bytes]]] = (
            WeakKeyDictionary()
        )

    async def respond(self, request: Request, snapshot: Snapshot, name: str, build: BuildPage) -> Response:
        """Return a page; a caller who sees others' names as pseudonyms gets one of their own."""
        gzip = wants_gzip(request)
        if current_pseudonyms():
            body = await asyncio.to_thread(_encode, build, snapshot, gzip)
        else:
            # A caller that leaves must not cancel the page for the others who wait for it.
            body = await asyncio.shield(self._start(snapshot, name, gzip, build))
        headers = {"Vary": "Accept-Encoding"}
        if body.startswith(GZIP_MAGIC):
            headers["Content-Encoding"] = "gzip"
        return respond_with_etag(request, body, JSON, "private, no-cache", headers)

    def _start(self, snapshot: Snapshot, name: str, gzip: bool, build: BuildPage) -> asyncio.Task[bytes]:
        tasks = self._tasks.setdefault(snapshot, {})
        task = tasks.get((name, gzip))
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = asyncio.ensure_future(asyncio.to_thread(_encode, build, snapshot, gzip))
            tasks[name, gzip] = task
        return task


def _encode(build: BuildPage, snapshot: Snapshot, gzip: bool) -> bytes:
    page = build()
    if isinstance(page, IncidentsPage):
        page = _qualify(page, snapshot)
    return maybe_gzip(msgspec.json.encode(page), gzip)


class PageRoutes:
    def __init__(self, snapshots: SnapshotCache, *, simulated: bool = False) -> None:
        self._snapshots, self._simulated = snapshots, simulated
        self._shared = SharedResponses()

    def routes(self) -> list[BaseRoute]:
        job, name = Parameter("id", "The job's id."), Parameter("name", "The name.")
        gpu = Parameter("node", "The node's name."), Parameter("gpu", "The GPU's index.")
        state = Parameter("state", "Only these.", {"type": "string", "enum": list(STATES)})
        text = Parameter("q", "The letters.")
        find = "Find nodes, GPUs, jobs, users, events, metrics and pages by a few letters."
        return [
            _route("pages/cluster", self._cluster, "The Cluster page.", ClusterPage),
            _route("pages/incidents", self._incidents, "The Events page: all incidents.", IncidentsPage),
            _route("pages/jobs", self._jobs, "The Jobs page.", JobsPage, state),
            _route("pages/jobs/{id}", self._job, "The page of a job.", JobPage, job),
            _route("pages/nodes", self._nodes, "The Nodes page.", NodesPage),
            _route("pages/nodes/{name}", self._node, "The page of a node.", NodePage, name),
            _route("pages/gpus/{node}/{gpu}", self._gpu, "The page of a GPU.", GpuPage, *gpu),
            _route("pages/users", self._users, "The Users page.", UsersPage),
            _route("pages/users/{name}", self._user, "The page of a user.", UserPage, name),
            _route("search", self._search, find, SearchResults, text),
            ApiRoute("/api/findings", self._findings, Operation("List the diagnoses.", FindingList)),
        ]

    async def _cluster(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        build = partial(build_cluster_page, snapshot, redactor, simulated=self._simulated)
        return await self._shared.respond(request, snapshot, "cluster", build)

    async def _incidents(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)

        def build() -> IncidentsPage:
            rows = IncidentRows(snapshot, redactor).all()
            verdict = build_verdict(*summarize_incidents(rows))
            return IncidentsPage(snapshot.at_ms, verdict, rows, snapshot.unfinished)

        return await self._shared.respond(request, snapshot, "incidents", build)

    async def _jobs(self, request: Request) -> Response:
        snapshot, redactor, parameters = await self._view(request)
        state = parameters.one("state")
        if state and state not in STATES:
            raise BadDataError(f'invalid parameter "state": it should be one of {", ".join(STATES)}')
        build = partial(build_jobs_page, snapshot, redactor, state)
        return await self._shared.respond(request, snapshot, f"jobs {state}", build)

    async def _job(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        job = redactor.meant_job(request.path_params["id"], snapshot.jobs.values())
        if job is None:
            return _not_found("job", request.path_params["id"])
        page = await build_job_page(self._snapshots, snapshot, redactor, job)
        return _respond(_qualify(page, snapshot), request)

    async def _nodes(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        build = partial(build_nodes_page, snapshot, redactor)
        return await self._shared.respond(request, snapshot, "nodes", build)

    async def _node(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        name = request.path_params["name"]
        if name not in snapshot.nodes:
            return _not_found("node", name)
        page = await build_node_page(self._snapshots, snapshot, redactor, name)
        return _respond(_qualify(page, snapshot), request)

    async def _gpu(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        place = request.path_params["node"], request.path_params["gpu"]
        if place not in snapshot.cards:
            return _not_found("GPU", ":".join(place))
        page = await build_gpu_page(self._snapshots, snapshot, redactor, place)
        return _respond(_qualify(page, snapshot), request)

    async def _users(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        return _respond(await build_users_page(self._snapshots, snapshot, redactor), request)

    async def _user(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        name = request.path_params["name"]
        users = {job.user for job in snapshot.jobs.values()}
        users |= {stored.binding.user for stored in snapshot.bindings}
        user = redactor.meant_user(name, users - {""})
        if user is None:
            return _not_found("user", name)
        page = await build_user_page(self._snapshots, snapshot, redactor, user)
        return _respond(_qualify(page, snapshot), request)

    async def _search(self, request: Request) -> Response:
        snapshot, redactor, parameters = await self._view(request)
        text = parameters.one("q")
        if len(text) > MAX_LETTERS:
            raise BadDataError(f'invalid parameter "q": it should be at most {MAX_LETTERS} letters')
        since = snapshot.at_ms - DAY_MS
        events = await asyncio.to_thread(self._snapshots.cluster.recent, since, snapshot.at_ms, MAX_EVENTS)
        metrics = await self._snapshots.names(snapshot.at_ms)
        return _respond(SearchResults(search(text, snapshot, redactor, events, metrics)), request)

    async def _findings(self, request: Request) -> Response:
        rows = [
            FindingSummary(
                name=finding.name,
                severity=finding.severity,
                title=finding.title,
                summary=finding.summary,
                action=finding.action,
                when=finding.query or f"events: {', '.join(finding.events)}",
                events=list(finding.events),
            )
            for finding in all_findings()
        ]
        return _respond(FindingList(rows), request)

    async def _view(self, request: Request) -> tuple[Snapshot, Redactor, Parameters]:
        """Return the snapshot of the requested time, what of it the caller may see, and the parameters."""
        parameters = await read_parameters(request)
        at = parameters.time("at") if parameters.one("at") else None
        return await self._snapshots.at(at), Redactor(current_pseudonyms()), parameters


def _route(
    path: str, handler: Handler, summary: str, answer: type[msgspec.Struct], *parameters: Parameter
) -> ApiRoute:
    missing = {404: "There was none of this name at that time."} if "{" in path else {}
    errors = {**QUERY_ERRORS, **missing}
    return ApiRoute(f"/api/{path}", handler, Operation(summary, answer, (*parameters, AT), errors=errors))


def _qualify(page: P, snapshot: Snapshot) -> P:
    """Return a page whose verdict says whether all incidents are known."""
    return msgspec.structs.replace(page, verdict=qualify(page.verdict, snapshot.unsure))


def _respond(answer: msgspec.Struct, request: Request) -> Response:
    return respond(msgspec.json.encode(answer), request)


def _not_found(kind: str, name: str) -> Response:
    return error_response(404, "not_found", f"there is no {kind} {name!r} at that time")
