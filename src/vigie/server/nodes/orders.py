"""/api/nodes/{name}/gpus/release and take: what an admin has a node do, over its link."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from vigie.agent.link.names import GPUS_RELEASE, GPUS_TAKE
from vigie.query.errors import BadData
from vigie.server.access.callers import IDENTITY
from vigie.server.api.parameters import Parameters
from vigie.server.http import answered, parameters_of, refusal, sent
from vigie.server.link.endpoint import Links
from vigie.server.nodes.registry import Registry

ORDERS = {"release": GPUS_RELEASE, "take": GPUS_TAKE}
PATH = "/api/nodes/{name}/gpus/{do}"
USUAL_MS = 600_000
LONGEST_MS = 7 * 86_400_000


class OrderRoutes:
    """Passes on what an admin asks of a node, and what the node says to it."""

    def __init__(self, registry: Registry, links: Links) -> None:
        self._registry, self._links = registry, links

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [Route(PATH, answered(self._order), methods=["POST"])]

    async def _order(self, request: Request) -> Response:
        name, do = request.path_params["name"], request.path_params["do"]
        if do not in ORDERS or self._registry.find(name) is None:
            what = f"node {name!r}" if do in ORDERS else f"order {do!r}: {' or '.join(ORDERS)}"
            return refusal(404, "not_found", f"there is no {what}")
        length = _length(await parameters_of(request))
        by = request.scope.get(IDENTITY)
        arguments = {"seconds": length / 1000, "by": f"{by.name if by else 'somebody'} by way of the server"}
        reply = await self._links.order(name, ORDERS[do], arguments)
        if reply is None:
            return refusal(503, "unavailable", f"node {name} is not connected, or gives no answer")
        if reply.refused:
            return refusal(409, "conflict", f"{name}: {reply.refused}")
        return sent(msgspec.json.encode({"node": name, "said": reply.said}), request)


def _length(given: Parameters) -> int:
    length = given.duration("for") if given.one("for") else USUAL_MS
    if not 0 < length <= LONGEST_MS:
        raise BadData('invalid parameter "for": it should be above 0 and at most 7d')
    return length
