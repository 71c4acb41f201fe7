"""Live simulated nodes: each sends frames over a real link every few seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from vigie.agent.link.buffer import LinkBuffer
from vigie.agent.link.client import LinkClient, ServerPeer
from vigie.agent.link.credentials import LinkCredentials
from vigie.model import Frame
from vigie.server.auth.secrets import Secrets
from vigie.simulation.cluster.bindings import build_bindings
from vigie.simulation.cluster.hellos import build_hello
from vigie.simulation.cluster.history import find_head
from vigie.simulation.cluster.nodes import SimulatedNode
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.sizing import SendRate, choose_rate

STOP_SECONDS = 5.0
APART_SECONDS = 0.02  # between connecting two nodes


class LiveNodes:
    """All agents of the simulated cluster, in the server's process."""

    def __init__(self, scenario: Scenario, nodes: Sequence[SimulatedNode], data: Path) -> None:
        self._scenario, self._nodes, self._data = scenario, nodes, data
        self._pace = choose_rate(len(nodes))
        self._links: dict[str, LinkClient] = {}
        self._own: list[asyncio.Task[None]] = []
        self._tasks: list[asyncio.Task[None]] = []  # per link

    def start(self, address: str) -> None:
        """Connect every node that is not lost, and start sending."""
        with closing(Secrets(self._data)) as secrets:
            for node in self._nodes:
                if not len(node.is_up(np.array([now_ms()]))):
                    continue  # lost
                me = build_hello(node.machine, self._pace.seconds)
                credentials = LinkCredentials(self._data / "simulated" / me.node)
                credentials.save(secrets.new_node_key(me.node))  # it joined long ago
                self._links[me.node] = LinkClient(
                    ServerPeer(address, credentials), me, LinkBuffer(None, me.boot_id)
                )
        held = [
            both for both in build_bindings(self._scenario, find_head(self._nodes)) if both[1].to_ms is None
        ]
        for name, link in self._links.items():
            link.replace_held([], [binding for node, binding in held if node == name])
        self._own = [asyncio.ensure_future(self._connect()), asyncio.ensure_future(self._run_node())]

    async def stop(self) -> None:
        for task in self._own:
            task.cancel()
        for link in self._links.values():
            link.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)

    async def _connect(self) -> None:
        """Connect the nodes one after the other: a thousand at once would wait for each other."""
        for link in self._links.values():
            self._tasks.append(asyncio.ensure_future(link.run()))
            await asyncio.sleep(APART_SECONDS)

    async def _run_node(self) -> None:
        """Spread the nodes over the interval, so that they do not all send at once."""
        pause = self._pace.seconds / max(len(self._links), 1)
        speakers = [
            LiveLink(node, self._links[node.machine.name], self._pace)
            for node in self._nodes
            if node.machine.name in self._links
        ]
        due = time.monotonic()
        while True:
            for speaker in speakers:
                speaker.run(now_ms())
                due += pause
                await asyncio.sleep(max(due - time.monotonic(), 0))


class LiveLink:
    """Sends the frames of one node. Several are built at once, which costs little more than one."""

    def __init__(self, node: SimulatedNode, send: Callable[[Frame], object], pace: SendRate) -> None:
        self._node, self._send, self._ahead = node, send, pace.ahead
        self._step_ms = round(pace.seconds * 1000)
        self._frames: Iterator[Frame] = iter(())
        self._next: Frame | None = None

    def run(self, now: int) -> None:
        """Send the frame of this tick, unless the node is lost."""
        if self._next is None:
            self._frames = self._node.build_frames(
                now + self._step_ms * np.arange(self._ahead, dtype=np.int64)
            )
            self._next = next(self._frames, None)
        # Ticks are not even; a future frame belongs to a node that is lost until then.
        if self._next is not None and self._next.time_ms < now + self._step_ms / 2:
            self._send(self._next)
            self._next = next(self._frames, None)


def now_ms() -> int:
    return time.time_ns() // 1_000_000
