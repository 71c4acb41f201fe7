"""What the agent answers on its Unix socket: its own pages to its owner, the server's answers to anybody."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any, Protocol

from vigie.agent.http import gpu_commands
from vigie.agent.http.gpu_commands import GpuCommands
from vigie.agent.http.handlers import Handlers
from vigie.agent.http.server import Request, Response
from vigie.agent.http.unix_socket import UnixPeer

SERVER_PREFIX = "/server/"
JSON = "application/json"
NAME_SECONDS = 5.0


class ServerLink(Protocol):
    def state(self) -> dict[str, Any]:
        """Return how the link is doing."""

    async def request(self, user: str, target: str) -> tuple[int, bytes]:
        """Return status and body of the server's answer to a GET of a user, for whom we vouch."""


class UnixHandlers:
    """Answers commands on this machine."""

    def __init__(
        self, pages: Handlers, links: Sequence[ServerLink], driver: GpuCommands | None = None
    ) -> None:
        self._handlers, self._links, self._gpus = pages, links, driver

    async def answer(self, request: Request, peer: UnixPeer) -> Response:
        """Answer whoever the kernel says it is."""
        if request.path.startswith(SERVER_PREFIX):
            return await self._forward(request, peer)
        if not peer.is_owner:
            why = f"this is for root and uid {os.geteuid()}, and you are uid {peer.uid}\n"
            return Response(403, why.encode())
        if request.path == "/links":
            links = [link.state() for link in self._links]
            return Response(200, json.dumps({"links": links}).encode(), JSON)
        if self._gpus and request.path in gpu_commands.COMMANDS:
            return await self._gpus.answer(request, peer)
        return await self._handlers.answer_owner(request)

    async def _forward(self, request: Request, peer: UnixPeer) -> Response:
        if not self._links:
            return Response(503, b"this agent has no server: vigie agent --server URL\n")
        try:
            # Names may come from a directory on the network.
            name = await asyncio.wait_for(asyncio.to_thread(lambda: peer.name), NAME_SECONDS)
        except TimeoutError:
            return Response(503, f"the name of uid {peer.uid} cannot be looked up now\n".encode())
        if not name:
            return Response(403, f"uid {peer.uid} has no name on this machine\n".encode())
        query = f"?{request.query}" if request.query else ""
        target = f"/{request.path.removeprefix(SERVER_PREFIX)}{query}"
        status, body = await self._links[0].request(name, target)
        return Response(status, body, JSON)
