"""The simulated nodes as they are now: each sends its frames over a real link, every few seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from vigie.agent.link.buffer import Buffer
from vigie.agent.link.client import Link, Peer
from vigie.agent.link.credentials import Credentials
from vigie.server.access.secrets import Secrets
from vigie.simulation.cluster.holdings import bindings
from vigie.simulation.cluster.introductions import LIVE_SECONDS, introduction_of
from vigie.simulation.cluster.nodes import Node
from vigie.simulation.cluster.past import head_of
from vigie.simulation.cluster.story import Story

STOP_SECONDS = 5.0


class Present:
    """All agents of the simulated cluster, in the server's own process."""

    def __init__(self, story: Story, nodes: Sequence[Node], data: Path) -> None:
        self._story, self._nodes, self._data = story, nodes, data
        self._links: dict[str, Link] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, address: str) -> None:
        """Connect every node that is not lost, and let them speak."""
        with closing(Secrets(self._data)) as secrets:
            for node in self._nodes:
                if node.frame(now_ms()) is None:
                    continue  # it is lost
                me = introduction_of(node.machine)
                credentials = Credentials(self._data / "simulated" / me.node)
                credentials.keep(secrets.new_node_key(me.node))  # it has long joined
                self._links[me.node] = Link(Peer(address, credentials), me, Buffer(None, me.boot_id))
        held = [both for both in bindings(self._story, head_of(self._nodes)) if both[1].to_ms is None]
        for name, link in self._links.items():
            link.hold([], [binding for node, binding in held if node == name])
        self._tasks = [asyncio.ensure_future(link.run()) for link in self._links.values()]
        self._tasks.append(asyncio.ensure_future(self._speak()))

    async def stop(self) -> None:
        """Let every agent say goodbye."""
        if self._tasks:
            self._tasks.pop().cancel()
        for link in self._links.values():
            link.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)

    async def _speak(self) -> None:
        """Give each node its turn within the interval, so that they do not all speak at once."""
        pause = LIVE_SECONDS / max(len(self._links), 1)
        speaking = [node for node in self._nodes if node.machine.name in self._links]
        due = time.monotonic()
        while True:
            for node in speaking:
                frame = node.frame(now_ms())
                if frame is not None:
                    self._links[node.machine.name](frame)
                due += pause
                await asyncio.sleep(max(due - time.monotonic(), 0))


def now_ms() -> int:
    """Return the wall clock."""
    return time.time_ns() // 1_000_000
