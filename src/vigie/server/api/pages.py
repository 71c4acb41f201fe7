"""/api/pages/*, /api/findings, /api/search: what the pages say, for whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from vigie.findings.core.registry import all_findings
from vigie.query.errors import BadDataError
from vigie.server.http.requests import (
    GZIP_MAGIC,
    JSON,
    Parameters,
    error_response,
    handle_errors,
    maybe_gzip,
    parameters_of,
    respond,
    wants_gzip,
)
from vigie.server.http.responses import respond_with_etag
from vigie.server.pages.cluster_page import cluster_page, summarize_incidents
from vigie.server.pages.gpu_page import gpu_page
from vigie.server.pages.incident_rows import IncidentRows
from vigie.server.pages.job_page import STATES, job_page, jobs_page
from vigie.server.pages.node_page import node_page, nodes_page
from vigie.server.pages.search import search
from vigie.server.pages.snapshot import Snapshot
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.user_page import user_page, users_page
from vigie.server.pages.widgets import qualify, verdict
from vigie.server.privacy.redactor import Redactor, current_pseudonyms

Make = Callable[[], dict[str, Any]]
DAY_MS = 86_400_000
MOST_EVENTS = 500
MOST_WORDS = 200  # letters of a search


class SharedResponses:
    """Keeps the answers about each snapshot for as long as somebody keeps the snapshot."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Snapshot, dict[tuple[str, bool], asyncio.Task[bytes]]] = (
            WeakKeyDictionary()
        )

    async def answer(self, request: Request, snapshot: Snapshot, name: str, make: Make) -> Response:
        """Return a page about a snapshot; whoever sees others' names as pseudonyms gets one of his own."""
        gzip = wants_gzip(request)
        if current_pseudonyms():
            body = await asyncio.to_thread(_made, make, gzip)
        else:
            # Whoever leaves first must not take the answer away from the others who wait for it.
            body = await asyncio.shield(self._making(snapshot, name, gzip, make))
        headers = {"Vary": "Accept-Encoding"}
        if body.startswith(GZIP_MAGIC):
            headers["Content-Encoding"] = "gzip"
        return respond_with_etag(request, body, JSON, "private, no-cache", headers)

    def _making(self, snapshot: Snapshot, name: str, gzip: bool, make: Make) -> asyncio.Task[bytes]:
        kept = self._kept.setdefault(snapshot, {})
        task = kept.get((name, gzip))
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = kept[name, gzip] = asyncio.ensure_future(asyncio.to_thread(_made, make, gzip))
        return task


def _made(make: Make, gzip: bool) -> bytes:
    return maybe_gzip(msgspec.json.encode(make()), gzip)


class PageRoutes:
    def __init__(self, snapshots: SnapshotCache, *, simulated: bool = False) -> None:
        self._snapshots, self._simulated = snapshots, simulated
        self._answers = SharedResponses()

    def routes(self) -> list[BaseRoute]:
        handlers = {
            "pages/cluster": self._cluster,
            "pages/incidents": self._incidents,
            "pages/jobs": self._jobs,
            "pages/jobs/{id}": self._job,
            "pages/nodes": self._nodes,
            "pages/nodes/{name}": self._node,
            "pages/gpus/{node}/{gpu}": self._gpu,
            "pages/users": self._users,
            "pages/users/{name}": self._user,
            "search": self._search,
            "findings": self._findings,
        }
        return [Route(f"/api/{path}", handle_errors(handler)) for path, handler in handlers.items()]

    async def _cluster(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)

        def make() -> dict[str, Any]:
            return _told(cluster_page(snapshot, redactor, simulated=self._simulated), snapshot)

        return await self._answers.answer(request, snapshot, "cluster", make)

    async def _incidents(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)

        def make() -> dict[str, Any]:
            rows = IncidentRows(snapshot, redactor).all()
            page = {
                "at_ms": snapshot.at_ms,
                "verdict": verdict(*summarize_incidents(rows)),
                "incidents": rows,
            }
            return _told(page, snapshot)

        return await self._answers.answer(request, snapshot, "incidents", make)

    async def _jobs(self, request: Request) -> Response:
        snapshot, redactor, given = await self._view(request)
        state = given.one("state")
        if state and state not in STATES:
            raise BadDataError(f'invalid parameter "state": it should be one of {", ".join(STATES)}')
        make = partial(jobs_page, snapshot, redactor, state)
        return await self._answers.answer(request, snapshot, f"jobs {state}", make)

    async def _job(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        job = redactor.meant_job(request.path_params["id"], snapshot.jobs.values())
        if job is None:
            return _unknown("job", request.path_params["id"])
        return _sent(_told(await job_page(self._snapshots, snapshot, redactor, job), snapshot), request)

    async def _nodes(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        return await self._answers.answer(request, snapshot, "nodes", partial(nodes_page, snapshot, redactor))

    async def _node(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        name = request.path_params["name"]
        if name not in snapshot.nodes:
            return _unknown("node", name)
        return _sent(_told(await node_page(self._snapshots, snapshot, redactor, name), snapshot), request)

    async def _gpu(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        place = request.path_params["node"], request.path_params["gpu"]
        if place not in snapshot.cards:
            return _unknown("GPU", ":".join(place))
        return _sent(_told(await gpu_page(self._snapshots, snapshot, redactor, place), snapshot), request)

    async def _users(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        return _sent(await users_page(self._snapshots, snapshot, redactor), request)

    async def _user(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        name = request.path_params["name"]
        known = {job.user for job in snapshot.jobs.values()} | {
            kept.binding.user for kept in snapshot.bindings
        }
        user = redactor.meant_user(name, known - {""})
        if user is None:
            return _unknown("user", name)
        return _sent(_told(await user_page(self._snapshots, snapshot, redactor, user), snapshot), request)

    async def _search(self, request: Request) -> Response:
        snapshot, redactor, given = await self._view(request)
        text = given.one("q")
        if len(text) > MOST_WORDS:
            raise BadDataError(f'invalid parameter "q": it should be at most {MOST_WORDS} letters')
        since = snapshot.at_ms - DAY_MS
        events = await asyncio.to_thread(self._snapshots.known.recent, since, snapshot.at_ms, MOST_EVENTS)
        metrics = await self._snapshots.names(snapshot.at_ms)
        return _sent({"found": search(text, snapshot, redactor, events, metrics)}, request)

    async def _findings(self, request: Request) -> Response:
        rows = [
            {
                "name": finding.name,
                "severity": finding.severity,
                "title": finding.title,
                "summary": finding.summary,
                "action": finding.action,
                "when": finding.query or f"events: {', '.join(finding.events)}",
                "events": list(finding.events),
            }
            for finding in all_findings()
        ]
        return _sent({"findings": rows}, request)

    async def _view(self, request: Request) -> tuple[Snapshot, Redactor, Parameters]:
        """Return the snapshot that is asked for, what of it the caller may see, and the parameters."""
        given = await parameters_of(request)
        at = given.time("at") if given.one("at") else None
        return await self._snapshots.at(at), Redactor(current_pseudonyms()), given


def _told(document: dict[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    """Return a page that tells what was found, and whether that is all."""
    said = qualify(document["verdict"], snapshot.unsure)
    return {**document, "verdict": said, "unfinished": snapshot.unfinished}


def _sent(document: dict[str, Any], request: Request) -> Response:
    return respond(msgspec.json.encode(document), request)


def _unknown(kind: str, name: str) -> Response:
    return error_response(404, "not_found", f"there is no {kind} {name!r} at that time")
