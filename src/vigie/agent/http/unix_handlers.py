"""Handlers on the Unix socket: the agent's own paths for its owner, the server's API for local users."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any, Protocol

from vigie.agent.http import gpu_commands, job_commands
from vigie.agent.http.gpu_commands import GpuCommands
from vigie.agent.http.handlers import Handlers
from vigie.agent.http.job_commands import JobCommands
from vigie.agent.http.server import Request, Response
from vigie.agent.http.unix_socket import UnixPeer

SERVER_PREFIX = "/server/"
JSON = "application/json"
NAME_SECONDS = 5.0


class ServerLink(Protocol):
    def state(self) -> dict[str, Any]: ...

    async def request(self, user: str, target: str) -> tuple[int, bytes]: ...


class UnixHandlers:
    def __init__(
        self,
        pages: Handlers,
        links: Sequence[ServerLink],
        driver: GpuCommands | None = None,
        jobs: JobCommands | None = None,
    ) -> None:
        self._handlers, self._links, self._gpus, self._jobs = pages, links, driver, jobs

    async def answer(self, request: Request, peer: UnixPeer) -> Response:
        """Handle a request of a user identified by the kernel."""
        if request.path.startswith(SERVER_PREFIX):
            return await self._forward(request, peer)
        if self._jobs and request.path in job_commands.COMMANDS:
            return await self._jobs.answer(request, peer)
        if not peer.is_owner:
            why = f"requires root or uid {os.geteuid()}, you are uid {peer.uid}\n"
            return Response(403, why.encode())
        if request.path == "/links":
            links = [link.state() for link in self._links]
            return Response(200, json.dumps({"links": links}).encode(), JSON)
        if self._gpus and request.path in gpu_commands.COMMANDS:
            return await self._gpus.answer(request, peer)
        return await self._handlers.answer_owner(request)

    async def _forward(self, request: Request, peer: UnixPeer) -> Response:
        if not self._links:
            return Response(503, b"no server configured: vigie agent --server URL\n")
        try:
            # Names may come from a network directory.
            name = await asyncio.wait_for(asyncio.to_thread(lambda: peer.name), NAME_SECONDS)
        except TimeoutError:
            return Response(503, f"cannot look up the name of uid {peer.uid} now\n".encode())
        if not name:
            return Response(403, f"uid {peer.uid} has no user name on this machine\n".encode())
        query = f"?{request.query}" if request.query else ""
        target = f"/{request.path.removeprefix(SERVER_PREFIX)}{query}"
        status, body = await self._links[0].request(name, target)
        return Response(status, body, JSON)
