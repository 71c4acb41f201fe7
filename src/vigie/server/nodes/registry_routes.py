"""/api/nodes: who belongs to the cluster and how they are; an admin adds nodes, and removes them."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from vigie.server.http import answered, refusal, sent
from vigie.server.link.endpoint import Links
from vigie.server.nodes.agents import scraping
from vigie.server.nodes.registry import NAME, REMOVED, Node, Registry, facts


class NodeRoutes:
    """Answers about nodes."""

    def __init__(self, registry: Registry, links: Links) -> None:
        self._registry, self._links = registry, links

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/api/nodes", answered(self._list)),
            Route("/api/nodes/{name}", answered(self._one), methods=["GET"]),
            Route("/api/nodes/{name}", answered(self._add), methods=["POST"]),
            Route("/api/nodes/{name}", answered(self._remove), methods=["DELETE"]),
        ]

    async def _list(self, request: Request) -> Response:
        state = request.query_params.get("state", "")
        nodes = [
            _facts(node)
            for node in self._registry.nodes()
            if (node.state == state if state else node.state != REMOVED)
        ]
        return sent(_json({"nodes": nodes}), request)

    async def _one(self, request: Request) -> Response:
        found = self._registry.find(request.path_params["name"])
        return sent(_json(_facts(found)), request) if found else _unknown(request)

    async def _add(self, request: Request) -> Response:
        name = request.path_params["name"]
        if not NAME.fullmatch(name):
            return refusal(
                400, "bad_data", f"{name!r} cannot be a node's name: letters, digits, dots, dashes"
            )
        return sent(_json({"added": name, "key": self._links.add(name)}), request)

    async def _remove(self, request: Request) -> Response:
        name = request.path_params["name"]
        if not self._links.remove(name):
            return _unknown(request)
        return sent(_json({"removed": name}), request)


def _facts(node: Node) -> dict[str, Any]:
    return {**facts(node), **scraping(node)}


def _unknown(request: Request) -> Response:
    return refusal(404, "not_found", f"there is no node {request.path_params['name']!r}")


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)
