"""One agent on the line: what it says is stored and acknowledged, what it is asked it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from starlette.websockets import WebSocket, WebSocketDisconnect

from vigie.agent.link import messages
from vigie.agent.link.messages import (
    Ack,
    Binding,
    Command,
    Delta,
    Event,
    Frame,
    Goodbye,
    Hello,
    Malformed,
    Reply,
)
from vigie.agent.link.messages import Table as TableMessage
from vigie.model import Event as ModelEvent
from vigie.model import Frame as ModelFrame
from vigie.model import Table, gauge
from vigie.server.link.clock import NodeClock
from vigie.server.link.tables import Alike, Tables
from vigie.server.link.writer import CannotStore, LinkWriter, Outcome
from vigie.server.nodes.events import Events
from vigie.server.nodes.registry import Registry
from vigie.store.errors import Refused
from vigie.store.store import Store

JOB = "node"
AHEAD_MS = 10 * 60_000
PING_SECONDS = 30.0
ROUND_TRIP_MS = 2_000  # a slower answer tells nothing about a clock
ON_THE_LINE = 64  # entries of one link that may wait to be stored

METRICS = (
    UP := gauge("up", "1 for each frame that came from the agent of a node."),
    OFFSET := gauge("vigie_node_clock_offset_seconds", "How far the node's clock was ahead of the server's."),
)
HERE = Table("vigie_link", 1, ((UP, ()), (OFFSET, ())))


class Counts:
    """What all links have brought."""

    def __init__(self) -> None:
        self.frames = self.samples = self.events = self.refused = 0


class PassOn(Protocol):
    """Where else the frames of all nodes go."""

    def write(self, frame: ModelFrame, node: str) -> None:
        """Take a node's frame."""

    def end(self, node: str) -> None:
        """End the series of a node."""


class Shared(NamedTuple):
    """What all links have in common."""

    store: Store
    writer: LinkWriter
    events: Events
    registry: Registry
    clock: Callable[[], int]
    age_ms: int
    counts: Counts
    alike: Alike
    pass_on: PassOn | None = None


class Session:
    """A connection whose agent has introduced itself."""

    def __init__(self, socket: WebSocket, hello: Hello, shared: Shared, boot_ms: int) -> None:
        self.hello = hello
        self.acknowledged = 0
        self.said_goodbye = False
        self._socket, self._shared = socket, shared
        self._labels = {"instance": hello.node, "job": JOB}
        self._tables = Tables(shared.alike)
        self._clock = NodeClock(boot_ms)
        self._room = asyncio.Semaphore(ON_THE_LINE)
        self._last = 0
        self._refused: list[tuple[int, str]] = []
        self._news = asyncio.Event()
        self._failure: CannotStore | None = None
        self._closing: Goodbye | None = None
        self._asked: dict[int, tuple[int, asyncio.Future[None]]] = {}
        self._commands = 0

    @property
    def place(self) -> str:
        """Return where the agent is, in words."""
        client = self._socket.client
        return f"{client.host if client else '?'} (host {self.hello.host or '?'})"

    def end(self, reason: str, *, removed: bool = False) -> None:
        """Have the connection closed."""
        self._closing = Goodbye(reason, removed)
        self._news.set()

    async def run(self) -> None:
        """Serve the connection until it ends; raise Malformed for junk, CannotStore when that is so."""
        self._measured(self.hello.uptime_ms, self._shared.clock())
        receiving = asyncio.ensure_future(self._receive())
        sending = asyncio.ensure_future(self._send())
        pinging = asyncio.ensure_future(self._ping())
        tasks = [receiving, sending, pinging]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for outcome in ended:
            if isinstance(outcome, Exception) and not isinstance(outcome, WebSocketDisconnect):
                raise outcome

    async def answers(self, seconds: float) -> bool:
        """Tell whether the agent is still there."""
        try:
            async with asyncio.timeout(seconds):
                await self._ask()
        except (TimeoutError, WebSocketDisconnect, RuntimeError):
            return False
        return True

    async def _receive(self) -> None:
        while not self.said_goodbye:
            message = messages.decode(await self._socket.receive_bytes())
            self._shared.registry.heard(self.hello.node)
            if isinstance(message, Frame):
                await self._store(message.sequence, partial(self._append, self._frame(message)))
            elif isinstance(message, TableMessage | Delta):
                self._tables.announce(message)
            elif isinstance(message, Event):
                await self._store(message.sequence, partial(self._note, message))
            elif isinstance(message, Binding):
                await self._store(message.sequence, _no_bindings)
            elif isinstance(message, Reply):
                self._replied(message)
            elif isinstance(message, Goodbye):
                self.said_goodbye = True
            elif message is not None:
                raise Malformed(f"an agent does not say {type(message).__name__}")

    def _frame(self, message: Frame) -> ModelFrame:
        """Return the frame with its tables and numbers as the store takes them."""
        parts: list[Any] = []
        for number, data in message.parts:
            table = self._tables[number]
            if len(data) != 8 * len(table.series):
                raise Malformed(f"{len(data)} bytes for {len(table.series)} series of table {table.source}")
            if table.source != HERE.source:  # that one is for us to write
                parts.append((table, np.frombuffer(data, "<f8")))
        time_ms = self._clock.time_of(message)
        self._shared.registry.clock(self.hello.node, self._clock.offset_ms)
        parts.append((HERE, (1.0, self._clock.offset_ms / 1000)))
        return ModelFrame(time_ms, tuple(parts))

    def _append(self, frame: ModelFrame) -> None:
        now = self._shared.clock()
        if not now - self._shared.age_ms <= frame.time_ms <= now + AHEAD_MS:
            raise Refused(f"{frame.time_ms} is older than what is kept or more than 10 minutes ahead")
        self._shared.store.append(self._labels, frame)
        if self._shared.pass_on:
            self._shared.pass_on.write(_with_floats(frame), self.hello.node)
        self._shared.counts.frames += 1
        self._shared.counts.samples += sum(len(values) for _, values in frame.parts)

    def _note(self, message: Event) -> None:
        where = {**message.where, "node": self.hello.node}
        event = ModelEvent(
            message.kind, message.begin_ms, message.what, where, message.end_ms, message.severity
        )
        self._shared.events.add(event)
        self._shared.counts.events += 1

    async def _store(self, sequence: int, store: Callable[[], None]) -> None:
        if sequence <= self._last:
            raise Malformed(f"sequence {sequence} came after {self._last}")
        self._last = sequence
        await self._room.acquire()
        await self._shared.writer.submit(store, partial(self._stored, sequence))

    def _stored(self, sequence: int, outcome: Outcome) -> None:
        self._room.release()
        if isinstance(outcome, CannotStore):
            self._failure = outcome
        elif self._failure is None:
            self.acknowledged = sequence
            if outcome:
                self._shared.counts.refused += 1
                self._refused.append((sequence, outcome))
        self._news.set()

    async def _send(self) -> None:
        told = 0
        while True:
            await self._news.wait()
            self._news.clear()
            if self.acknowledged > told:
                told, refused, self._refused = self.acknowledged, self._refused, []
                await self._say(Ack(told, refused))
            if self._failure:
                raise self._failure
            if self._closing:
                await self._say(self._closing)
                return

    async def _ping(self) -> None:
        while True:
            await self._ask()
            await asyncio.sleep(PING_SECONDS)

    async def _ask(self) -> None:
        self._commands += 1
        number = self._commands
        answer = asyncio.get_running_loop().create_future()
        self._asked[number] = (self._shared.clock(), answer)
        try:
            await self._say(Command(number, "ping"))
            await answer
        finally:
            del self._asked[number]

    def _replied(self, reply: Reply) -> None:
        asked = self._asked.get(reply.number)
        if asked is None or asked[1].done():
            return
        sent, answer = asked
        now = self._shared.clock()
        if reply.uptime_ms and 0 <= now - sent <= ROUND_TRIP_MS:
            self._measured(reply.uptime_ms, (sent + now) // 2)
        answer.set_result(None)

    def _measured(self, uptime_ms: int, at_ms: int) -> None:
        if uptime_ms and self._clock.measured(uptime_ms, at_ms):
            self._shared.registry.booted(self.hello.node, self._clock.boot_ms)

    async def _say(self, message: messages.Message) -> None:
        await self._socket.send_bytes(messages.encode(message))


def _with_floats(frame: ModelFrame) -> ModelFrame:
    parts = [(table, tuple(np.asarray(values).tolist())) for table, values in frame.parts]
    return ModelFrame(frame.time_ms, tuple(parts))


def _no_bindings() -> None:
    raise Refused("this server keeps no bindings")
