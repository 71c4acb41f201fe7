"""Takes the stacks of a job's processes on all of its nodes, and groups them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from vigie.server.tracing.coordinator import NodeCommands, TraceCaller
from vigie.server.tracing.preflight import TraceRefusedError
from vigie.trace.stacks.grouping import group_stacks
from vigie.trace.stacks.stack import ProcessStacks
from vigie.wire.api.traces import StackAnswer, StackRequestBody
from vigie.wire.commands import STACKS
from vigie.wire.tracing import StackOrder

_decode = msgspec.json.Decoder(list[ProcessStacks]).decode


class StackSurvey:
    def __init__(self, links: NodeCommands, nodes_of_job: Callable[[str], set[str]]) -> None:
        self._links, self._nodes_of_job = links, nodes_of_job

    async def take(self, body: StackRequestBody, caller: TraceCaller) -> StackAnswer:
        """Return the grouped stacks, or raise TraceRefusedError."""
        nodes = self._find_nodes(body)
        # Whose a process is, its node knows best: it refuses those of others.
        order: dict[str, Any] = msgspec.to_builtins(
            StackOrder(job=body.job, pids=body.pids, user="" if caller.is_admin else caller.name)
        )
        results = await asyncio.gather(*(self._take_node(node, order) for node in nodes))
        processes = [process for found in results for process in found]
        if not processes:
            what = f"job {body.job}" if body.job else "these pids"
            raise TraceRefusedError(f"No Python process of {what} runs on {', '.join(nodes[:5])}.")
        return StackAnswer(group_stacks(processes), len(processes))

    def _find_nodes(self, body: StackRequestBody) -> list[str]:
        if not body.job and not (body.pids and body.nodes):
            raise TraceRefusedError("Name a job, or a node and its pids.")
        connected = self._links.connected_nodes()
        wanted = set(body.nodes) or self._nodes_of_job(body.job)
        nodes = [node for node in connected if node in wanted] if wanted else connected
        if not nodes:
            raise TraceRefusedError("No node of it is connected. See `vigie nodes`.")
        return nodes

    async def _take_node(self, node: str, order: dict[str, Any]) -> list[ProcessStacks]:
        result = await self._links.order(node, STACKS, order)
        if result is None or not result.data:
            reason = result.refused if result is not None else "not connected"
            return [ProcessStacks(pid=0, node=node, error=reason)]
        processes = _decode(result.data)
        for process in processes:
            process.node = node
        return processes
