"""/api/outlook/*, /api/findings, /api/search: what the pages say, for whoever asks."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from vigie.findings._registry import all_findings
from vigie.query.errors import BadData
from vigie.server.access.privacy import current_mask
from vigie.server.api.parameters import Parameters
from vigie.server.http import answered, parameters_of, refusal, sent
from vigie.server.outlook.answers import Answers
from vigie.server.outlook.attention import Attention
from vigie.server.outlook.cluster import cluster, needs
from vigie.server.outlook.gpu_page import gpu_page
from vigie.server.outlook.job_page import job_page
from vigie.server.outlook.jobs_page import STATES, jobs_page
from vigie.server.outlook.node_page import node_page, nodes_page
from vigie.server.outlook.outlook import Outlook
from vigie.server.outlook.picture import Picture
from vigie.server.outlook.search import search
from vigie.server.outlook.seen import Seen
from vigie.server.outlook.shapes import hedged, verdict
from vigie.server.outlook.user_page import user_page, users_page

DAY_MS = 86_400_000
MOST_EVENTS = 500
MOST_WORDS = 200  # letters of a search


class OutlookRoutes:
    """Answers for the pages."""

    def __init__(self, outlook: Outlook, *, simulated: bool = False) -> None:
        self._outlook, self._simulated = outlook, simulated
        self._answers = Answers()

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        handlers = {
            "outlook/cluster": self._cluster,
            "outlook/attention": self._attention,
            "outlook/jobs": self._jobs,
            "outlook/jobs/{id}": self._job,
            "outlook/nodes": self._nodes,
            "outlook/nodes/{name}": self._node,
            "outlook/gpus/{node}/{gpu}": self._gpu,
            "outlook/users": self._users,
            "outlook/users/{name}": self._user,
            "search": self._search,
            "findings": self._findings,
        }
        return [Route(f"/api/{path}", answered(handler)) for path, handler in handlers.items()]

    async def _cluster(self, request: Request) -> Response:
        picture, seen, _ = await self._seen(request)

        def make() -> dict[str, Any]:
            return _told(cluster(picture, seen, simulated=self._simulated), picture)

        return await self._answers.answer(request, picture, "cluster", make)

    async def _attention(self, request: Request) -> Response:
        picture, seen, _ = await self._seen(request)

        def make() -> dict[str, Any]:
            rows = Attention(picture, seen).all()
            page = {"at_ms": picture.at_ms, "verdict": verdict(*needs(rows)), "attention": rows}
            return _told(page, picture)

        return await self._answers.answer(request, picture, "attention", make)

    async def _jobs(self, request: Request) -> Response:
        picture, seen, given = await self._seen(request)
        state = given.one("state")
        if state and state not in STATES:
            raise BadData(f'invalid parameter "state": it should be one of {", ".join(STATES)}')
        make = partial(jobs_page, picture, seen, state)
        return await self._answers.answer(request, picture, f"jobs {state}", make)

    async def _job(self, request: Request) -> Response:
        picture, seen, _ = await self._seen(request)
        job = seen.meant_job(request.path_params["id"], picture.jobs.values())
        if job is None:
            return _unknown("job", request.path_params["id"])
        return _sent(_told(await job_page(self._outlook, picture, seen, job), picture), request)

    async def _nodes(self, request: Request) -> Response:
        picture, seen, _ = await self._seen(request)
        return await self._answers.answer(request, picture, "nodes", partial(nodes_page, picture, seen))

    async def _node(self, request: Request) -> Response:
        picture, seen, _ = await self._seen(request)
        name = request.path_params["name"]
        if name not in picture.nodes:
            return _unknown("node", name)
        return _sent(_told(await node_page(self._outlook, picture, seen, name), picture), request)

    async def _gpu(self, request: Request) -> Response:
        picture, seen, _ = await self._seen(request)
        place = request.path_params["node"], request.path_params["gpu"]
        if place not in picture.cards:
            return _unknown("GPU", ":".join(place))
        return _sent(_told(await gpu_page(self._outlook, picture, seen, place), picture), request)

    async def _users(self, request: Request) -> Response:
        picture, seen, _ = await self._seen(request)
        return _sent(await users_page(self._outlook, picture, seen), request)

    async def _user(self, request: Request) -> Response:
        picture, seen, _ = await self._seen(request)
        name = request.path_params["name"]
        known = {job.user for job in picture.jobs.values()} | {kept.binding.user for kept in picture.bindings}
        user = seen.meant_user(name, known - {""})
        if user is None:
            return _unknown("user", name)
        return _sent(_told(await user_page(self._outlook, picture, seen, user), picture), request)

    async def _search(self, request: Request) -> Response:
        picture, seen, given = await self._seen(request)
        text = given.one("q")
        if len(text) > MOST_WORDS:
            raise BadData(f'invalid parameter "q": it should be at most {MOST_WORDS} letters')
        since = picture.at_ms - DAY_MS
        events = await asyncio.to_thread(self._outlook.known.recent, since, picture.at_ms, MOST_EVENTS)
        metrics = await self._outlook.names(picture.at_ms)
        return _sent({"found": search(text, picture, seen, events, metrics)}, request)

    async def _findings(self, request: Request) -> Response:
        rows = [
            {
                "name": finding.name,
                "severity": finding.severity,
                "title": finding.title,
                "what": finding.what,
                "do": finding.do,
                "when": finding.when or f"events: {', '.join(finding.events)}",
                "events": list(finding.events),
            }
            for finding in all_findings()
        ]
        return _sent({"findings": rows}, request)

    async def _seen(self, request: Request) -> tuple[Picture, Seen, Parameters]:
        """Return the picture that is asked for, what of it the caller may see, and the parameters."""
        given = await parameters_of(request)
        at = given.time("at") if given.one("at") else None
        return await self._outlook.at(at), Seen(current_mask()), given


def _told(document: dict[str, Any], picture: Picture) -> dict[str, Any]:
    """Return a page that tells what was found, and whether that is all."""
    said = hedged(document["verdict"], picture.unsure)
    return {**document, "verdict": said, "unfinished": picture.unfinished}


def _sent(document: dict[str, Any], request: Request) -> Response:
    return sent(msgspec.json.encode(document), request)


def _unknown(kind: str, name: str) -> Response:
    return refusal(404, "not_found", f"there is no {kind} {name!r} at that time")
