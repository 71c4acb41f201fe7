"""/api/bindings, /api/jobs, /api/users: who holds what, now or over a span of time.

Filters: node, gpu, user, job, kind, state, from, to (times as in Prometheus's API). `limit` is 1 to 1000.
The answer has `next` while there is more: give it back as `before`. Of users, hours of GPUs held are counted
between `from` (a week before `to`) and `to` (now).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct, convert, json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from vigie.query.errors import BadDataError
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import DAY_MS
from vigie.server.cluster.filters import ENDED, HELD, BindingFilter
from vigie.server.cluster.jobs import STATES
from vigie.server.http.requests import Parameters, parse_cursor, parse_limit, read_parameters
from vigie.server.http.responses import respond
from vigie.server.http.routes import BAD_PARAMETER, PAGING, TIME, ApiRoute, Operation, Parameter
from vigie.server.privacy.redactor import Pseudonyms, current_pseudonyms
from vigie.wire.api.resources import (
    BindingList,
    BindingRow,
    JobFacts,
    JobList,
    UserFacts,
    UserList,
)

FAR_PAST, FAR_FUTURE = -(1 << 62), 1 << 62
NOBODY = "\0"  # no name is that
WEEK_MS = 7 * DAY_MS
FILTERS = (
    Parameter("node", "Only on this node."),
    Parameter("gpu", "Only this device."),
    Parameter("user", "Only of this user."),
    Parameter("job", "Only of this job."),
    Parameter("kind", "Only of this kind, such as job."),
    Parameter("from", "From: seconds since 1970, or RFC 3339.", TIME),
    Parameter("to", "Until: seconds since 1970, or RFC 3339.", TIME),
)
STATE = Parameter("state", "Only these.", {"type": "string", "enum": [HELD, ENDED]})
LIST_BINDINGS = Operation(
    "List who holds or held which device.", BindingList, (*FILTERS, STATE, *PAGING), errors=BAD_PARAMETER
)
LIST_JOBS = Operation(
    "List jobs, with what they hold or held.",
    JobList,
    (*FILTERS, Parameter("state", "Only these."), *PAGING),
    errors=BAD_PARAMETER,
)
LIST_USERS = Operation(
    "List users, with the GPU-hours that they held in a range: by default the last week.",
    UserList,
    (*FILTERS, STATE, *PAGING),
    errors=BAD_PARAMETER,
)


class BindingRoutes:
    def __init__(self, store: BindingStore, clock: Callable[[], int]) -> None:
        self._store, self._clock = store, clock

    def routes(self) -> list[BaseRoute]:
        return [
            ApiRoute("/api/bindings", self._bindings, LIST_BINDINGS),
            ApiRoute("/api/jobs", self._jobs, LIST_JOBS),
            ApiRoute("/api/users", self._users, LIST_USERS),
        ]

    async def _bindings(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        limit, before, mask = parse_limit(parameters), parse_cursor(parameters), current_pseudonyms()
        filters = await self._read_filter(parameters, (HELD, ENDED))
        found = await asyncio.to_thread(self._store.find, filters, limit, before)
        rows = [mask.binding(stored.json) if mask else stored.json for stored in found]
        more = f"{found[-1].binding.from_ms}.{found[-1].id}" if len(found) == limit else ""
        return _respond(BindingList(convert(rows, list[BindingRow]), more), request)

    async def _jobs(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        limit, before, mask = parse_limit(parameters), parse_cursor(parameters), current_pseudonyms()
        filters = await self._read_filter(parameters, STATES)
        found = await asyncio.to_thread(self._store.jobs.find, filters, limit, before)
        rows = [mask.job(job.json) if mask else job.json for job in found]
        more = f"{found[-1].start_ms}.{found[-1].number}" if len(found) == limit else ""
        return _respond(JobList(convert(rows, list[JobFacts]), more), request)

    async def _users(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        limit, after, now = parse_limit(parameters), parameters.one("before"), self._clock()
        until = parameters.time_or("to", now)
        since = parameters.time_or("from", until - WEEK_MS)
        filters = (await self._read_filter(parameters, (HELD, ENDED)))._replace(
            since_ms=since, until_ms=until
        )
        rows = await asyncio.to_thread(self._user_rows, filters, since, min(until, now))
        later = [row for row in rows if row["user"] > after]
        more = later[limit - 1]["user"] if len(later) > limit else ""
        return _respond(UserList(convert(later[:limit], list[UserFacts]), more), request)

    def _user_rows(self, filters: BindingFilter, since: int, until: int) -> list[dict[str, Any]]:
        """Return users by the names under which the caller sees them."""
        mask = current_pseudonyms()
        rows = [user.json for user in self._store.users.find(filters, since, until)]
        if mask:
            rows = [{**row, "user": mask.user(row["user"])} for row in rows]
        return sorted(rows, key=lambda row: str(row["user"]))

    async def _read_filter(self, parameters: Parameters, states: tuple[str, ...]) -> BindingFilter:
        state = parameters.one("state")
        if state and state not in states:
            raise BadDataError(f'invalid parameter "state": it should be one of {", ".join(states)}')
        since, until = parameters.time_or("from", FAR_PAST), parameters.time_or("to", FAR_FUTURE)
        user, job = parameters.one("user"), parameters.one("job")
        mask = current_pseudonyms()
        if mask and (user or job):
            user, job = await asyncio.to_thread(self._resolve, mask, user, job)
        return BindingFilter(
            parameters.one("node"),
            parameters.one("gpu"),
            user,
            job,
            parameters.one("kind"),
            state,
            since,
            until,
        )

    def _resolve(self, mask: Pseudonyms, user: str, job: str) -> tuple[str, str]:
        """Return whom a caller means by names as he sees them; what he cannot see is nobody."""
        if user and user != mask.name:
            user = next(
                (name for name in self._store.words("user") if mask.word("user", name) == user), NOBODY
            )
        if job and job not in mask.jobs:
            job = next(
                (name for name in self._store.words("holder") if mask.word("job", name) == job), NOBODY
            )
        return user, job


def _respond(answer: Struct, request: Request) -> Response:
    return respond(json.encode(answer), request)
