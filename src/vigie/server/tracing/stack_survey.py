"""Takes the stacks of a job's processes on all of its nodes, and groups them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from vigie.server.tracing.coordinator import NodeCommands, TraceCaller
from vigie.server.tracing.preflight import TraceRefusedError
from vigie.trace.stacks.grouping import group_stacks
from vigie.trace.stacks.stack import ProcessStacks
from vigie.wire.api.traces import StackAnswer, StackRequestBody
from vigie.wire.commands import STACKS
from vigie.wire.tracing import StackOrder

MAX_PIDS = 256

_decode = msgspec.json.Decoder(list[ProcessStacks]).decode


class JobProcesses(NamedTuple):
    """The processes of a job by node, and whose they are."""

    pids: dict[str, list[int]]
    user: str


class StackSurvey:
    def __init__(self, links: NodeCommands, find_processes: Callable[[str], JobProcesses | None]) -> None:
        self._links, self._find_processes = links, find_processes

    async def take(self, body: StackRequestBody, caller: TraceCaller) -> StackAnswer:
        """Return the grouped stacks, or raise TraceRefusedError."""
        by_node = self._select(body, caller)
        results = await asyncio.gather(
            *(self._take_node(node, pids, caller) for node, pids in sorted(by_node.items()))
        )
        processes = [process for found in results for process in found]
        return StackAnswer(group_stacks(processes), len(processes))

    def _select(self, body: StackRequestBody, caller: TraceCaller) -> dict[str, list[int]]:
        if body.pids and len(body.nodes) == 1:
            return {body.nodes[0]: body.pids[:MAX_PIDS]}
        job = self._find_processes(body.job) if body.job else None
        if job is None or not job.pids:
            raise TraceRefusedError(
                f"No process of job {body.job!r} is known. Name them: --node N --pids 123,456"
                if body.job
                else "Name a job, or a node and its pids."
            )
        if not caller.is_admin and job.user != caller.name:
            raise TraceRefusedError(
                f"Job {body.job} belongs to {job.user}: only they or an admin may look inside."
            )
        return {n: pids[:MAX_PIDS] for n, pids in job.pids.items() if not body.nodes or n in body.nodes}

    async def _take_node(self, node: str, pids: list[int], caller: TraceCaller) -> list[ProcessStacks]:
        order: dict[str, Any] = msgspec.to_builtins(
            StackOrder(pids=pids, user="" if caller.is_admin else caller.name)
        )
        result = await self._links.order(node, STACKS, order)
        if result is None or not result.data:
            reason = result.refused if result is not None else "not connected"
            return [ProcessStacks(pid=pid, node=node, error=reason) for pid in pids]
        processes = _decode(result.data)
        for process in processes:
            process.node = node
        return processes
