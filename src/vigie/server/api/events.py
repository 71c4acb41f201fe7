"""/api/events: what happened, the newest first, page by page, or what is new since a number.

Filters: node, kind, severity, since, until (times as in Prometheus's API). `limit` is 1 to 1000. The answer
has `next` while there is more: give it back as `before`. With `after`, a number that an answer gave as
`last`, what came or changed since then is listed in that order.
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from vigie.server.cluster.events import EventFilter, EventStore, StoredEvent
from vigie.server.http.requests import Parameters, parse_cursor, parse_integer, parse_limit, read_parameters
from vigie.server.http.responses import respond
from vigie.server.http.routes import BAD_PARAMETER, COUNT, PAGING, TIME, ApiRoute, Operation, Parameter
from vigie.server.privacy.redactor import current_pseudonyms
from vigie.wire.api.resources import EventList, EventRow

FAR_PAST, FAR_FUTURE = -(1 << 62), 1 << 62
LIST = Operation(
    "List what happened, the newest first.",
    EventList,
    (
        Parameter("node", "Only of this node."),
        Parameter("kind", "Only of this kind, such as node_lost."),
        Parameter("severity", "Only these."),
        Parameter("since", "From: seconds since 1970, or RFC 3339.", TIME),
        Parameter("until", "Until: seconds since 1970, or RFC 3339.", TIME),
        *PAGING,
        Parameter("after", "Only what came or changed since the `last` of an answer.", COUNT),
    ),
    errors=BAD_PARAMETER,
)


class EventRoutes:
    def __init__(self, events: EventStore) -> None:
        self._events = events

    def routes(self) -> list[BaseRoute]:
        return [ApiRoute("/api/events", self._list, LIST)]

    async def _list(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        filters, limit = _read_filter(parameters), parse_limit(parameters)
        last = self._events.last()
        cursor = ""
        if parameters.one("after"):
            found = await asyncio.to_thread(
                self._events.after, parse_integer(parameters, "after"), filters, limit
            )
            # What came since `last` was asked for is not listed again.
            last = found[-1].id if len(found) == limit else max(last, *(stored.id for stored in found), 0)
        else:
            found = await asyncio.to_thread(self._events.find, filters, limit, parse_cursor(parameters))
            if len(found) == limit:
                cursor = f"{found[-1].event.begin_ms}.{found[-1].id}"
        return respond(msgspec.json.encode(EventList(_rows(found), last, cursor)), request)


def _rows(found: list[StoredEvent]) -> list[EventRow]:
    mask = current_pseudonyms()
    rows = [mask.event(stored.json) if mask else stored.json for stored in found]
    return msgspec.convert(rows, list[EventRow])


def _read_filter(parameters: Parameters) -> EventFilter:
    since = parameters.time_or("since", FAR_PAST)
    until = parameters.time_or("until", FAR_FUTURE)
    return EventFilter(
        parameters.one("node"), parameters.one("kind"), parameters.one("severity"), since, until
    )
