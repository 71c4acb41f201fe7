"""/api/nodes: who belongs to the cluster and how they are; an admin adds nodes, and removes them."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from vigie.query.errors import BadDataError
from vigie.server.cluster.nodes import NAME, REMOVED, NodeRecord, NodeStore, node_facts
from vigie.server.http.requests import IDENTITY, Parameters, read_parameters
from vigie.server.http.responses import error_response, respond
from vigie.server.http.routes import ADMIN, BAD_PARAMETER, DURATION, ApiRoute, Operation, Parameter
from vigie.server.ingest.link_endpoint import LinkEndpoint
from vigie.server.scrape.discovery import scraping
from vigie.wire.api.resources import AddedNode, CommandOutput, NodeFacts, NodeList, RemovedNode
from vigie.wire.commands import GPUS_RELEASE, GPUS_TAKE

COMMANDS = {"release": GPUS_RELEASE, "take": GPUS_TAKE}
PATH = "/api/nodes/{name}/gpus/{do}"
DEFAULT_MS = 600_000
MAX_MS = 7 * 86_400_000
NODE = Parameter("name", "The node's name.")
NO_NODE = {404: "There is no such node."}
COMMAND = Operation(
    "Have a node release its GPUs' driver for a while, or take it again.",
    CommandOutput,
    (
        NODE,
        Parameter("do", "What: release or take."),
        Parameter("for", "For how long, such as 10m (the default); at most 7d.", DURATION),
    ),
    errors={
        **BAD_PARAMETER,
        **NO_NODE,
        409: "The node refuses, and why.",
        503: "The node is not connected, or does not reply.",
    },
)
STATES = ("added", "up", "late", "lost", "stopped", REMOVED)
LIST = Operation(
    "List the nodes.",
    NodeList,
    (Parameter("state", "Only these; by default all but the removed.", {"enum": list(STATES)}),),
)
SHOW = Operation("Return what is known of a node.", NodeFacts, (NODE,), errors=NO_NODE)
ADD = Operation(
    "Expect a node, also one that was removed, and make a key for it.",
    AddedNode,
    (NODE,),
    errors=BAD_PARAMETER,
)
REMOVE = Operation("Remove a node; its keys are void.", RemovedNode, (NODE,), errors=NO_NODE)


class NodeCommandRoutes:
    """Passes on what an admin asks of a node, and what the node says to it."""

    def __init__(self, registry: NodeStore, links: LinkEndpoint) -> None:
        self._registry, self._links = registry, links

    def routes(self) -> list[BaseRoute]:
        return [ApiRoute(PATH, self._command, COMMAND, methods=["POST"], access=ADMIN)]

    async def _command(self, request: Request) -> Response:
        name, do = request.path_params["name"], request.path_params["do"]
        if do not in COMMANDS or self._registry.find(name) is None:
            what = f"node {name!r}" if do in COMMANDS else f"order {do!r}: {' or '.join(COMMANDS)}"
            return error_response(404, "not_found", f"there is no {what}")
        length = _length(await read_parameters(request))
        by = request.scope.get(IDENTITY)
        arguments = {"seconds": length / 1000, "by": f"{by.name if by else 'somebody'} by way of the server"}
        reply = await self._links.order(name, COMMANDS[do], arguments)
        if reply is None:
            return error_response(503, "unavailable", f"node {name} is not connected, or gives no answer")
        if reply.refused:
            return error_response(409, "conflict", f"{name}: {reply.refused}")
        return _respond(CommandOutput(name, reply.text), request)


def _length(parameters: Parameters) -> int:
    length = parameters.duration("for") if parameters.one("for") else DEFAULT_MS
    if not 0 < length <= MAX_MS:
        raise BadDataError('invalid parameter "for": it should be above 0 and at most 7d')
    return length


class NodeRoutes:
    def __init__(self, registry: NodeStore, links: LinkEndpoint) -> None:
        self._registry, self._links = registry, links

    def routes(self) -> list[BaseRoute]:
        return [
            ApiRoute("/api/nodes", self._list, LIST),
            ApiRoute("/api/nodes/{name}", self._one, SHOW),
            ApiRoute("/api/nodes/{name}", self._add, ADD, methods=["POST"], access=ADMIN),
            ApiRoute("/api/nodes/{name}", self._remove, REMOVE, methods=["DELETE"], access=ADMIN),
        ]

    async def _list(self, request: Request) -> Response:
        state = request.query_params.get("state", "")
        nodes = [
            _facts(node)
            for node in self._registry.nodes()
            if (node.state == state if state else node.state != REMOVED)
        ]
        return _respond(NodeList(nodes), request)

    async def _one(self, request: Request) -> Response:
        found = self._registry.find(request.path_params["name"])
        return _respond(_facts(found), request) if found else _not_found(request)

    async def _add(self, request: Request) -> Response:
        name = request.path_params["name"]
        if not NAME.fullmatch(name):
            return error_response(
                400, "bad_data", f"{name!r} cannot be a node's name: letters, digits, dots, dashes"
            )
        return _respond(AddedNode(name, self._links.add(name)), request)

    async def _remove(self, request: Request) -> Response:
        name = request.path_params["name"]
        if not self._links.remove(name):
            return _not_found(request)
        return _respond(RemovedNode(name), request)


def _facts(node: NodeRecord) -> NodeFacts:
    return msgspec.convert({**node_facts(node), **scraping(node)}, NodeFacts)


def _not_found(request: Request) -> Response:
    return error_response(404, "not_found", f"there is no node {request.path_params['name']!r}")


def _respond(answer: msgspec.Struct, request: Request) -> Response:
    return respond(msgspec.json.encode(answer), request)
