"""One agent on the line: what it says is stored and acknowledged, what it is asked it answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from starlette.websockets import WebSocket, WebSocketDisconnect

from vigie.model import Binding as ModelBinding
from vigie.model import Event as ModelEvent
from vigie.model import Frame as ModelFrame
from vigie.model import Table, gauge
from vigie.server.auth.delegated_auth import DelegatedAuth
from vigie.server.byte_budget import ByteSemaphore
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.events import EventStore
from vigie.server.cluster.nodes import NodeStore
from vigie.server.ingest import reported_holders
from vigie.server.ingest.link_bindings import LinkBindings
from vigie.server.ingest.link_tables import LinkTables, SharedTables, gpus_by_pci_bus_id
from vigie.server.ingest.link_writer import LinkWriter, Outcome, StoreUnavailableError
from vigie.server.ingest.node_clock import NodeClock
from vigie.server.ingest.reported_holders import ReportedHolders
from vigie.server.metrics import LinkMetrics
from vigie.server.parser_threads import parse
from vigie.server.staleness.activity import JOB, ActivityLog
from vigie.store.errors import InvalidInputError
from vigie.store.store import Store
from vigie.wire import messages
from vigie.wire.bindings import parse_binding
from vigie.wire.commands import PING
from vigie.wire.messages import (
    Ack,
    BindingMessage,
    Command,
    CommandResult,
    DelegatedRequest,
    DelegatedResponse,
    DeltaMessage,
    EventMessage,
    FrameMessage,
    Goodbye,
    HeldBindings,
    Hello,
    InventoryMessage,
    MalformedMessageError,
    TableMessage,
)

AHEAD_MS = 10 * 60_000
PING_SECONDS = 30.0
SILENT_SECONDS = 60.0  # after which an agent that does not answer is gone
ROUND_TRIP_MS = 2_000  # a slower answer tells nothing about a clock
QUESTIONS = 8  # of people on one node, at a time
ON_THE_LINE = 64  # entries of one link that may wait to be stored
MAX_WAITING_BYTES = 8 << 20  # of these entries
FLOATS = np.dtype("<f8")

METRICS = (
    UP := gauge("up", "1 at each frame of a node, 0 at each interval while it is late, lost or stopped."),
    OFFSET := gauge("vigie_node_clock_offset_seconds", "How far the node's clock was ahead of the server's."),
)
HERE = Table("vigie_link", 1, ((UP, ()), (OFFSET, ())))


class FrameSink(Protocol):
    """Where else the frames of all nodes go."""

    def write_frame(self, target: Mapping[str, str], frame: ModelFrame) -> None:
        """Take a frame of a target, by its labels."""

    def end(self, target: Mapping[str, str]) -> None:
        """End the series of a target."""


class LinkServices(NamedTuple):
    store: Store
    writer: LinkWriter
    events: EventStore
    nodes: NodeStore
    clock: Callable[[], int]
    age_ms: int
    counts: LinkMetrics
    alike: SharedTables
    activity: ActivityLog
    scraped: Callable[[str, str], bool]  # whether we scrape this instance and job ourselves
    bindings: BindingStore
    delegated_auth: DelegatedAuth
    holders: ReportedHolders
    pass_on: FrameSink | None = None


class LinkSession:
    """A connection whose agent has introduced itself."""

    def __init__(
        self,
        socket: WebSocket,
        hello: Hello,
        shared: LinkServices,
        boot_ms: int,
        *,
        reports_others: bool = False,  # whether it may report what is held on other nodes, as Slurm's does
    ) -> None:
        self.hello = hello
        self.acknowledged = 0
        self.said_goodbye = False
        self._socket, self._shared = socket, shared
        # Those are for us to write.
        self._tables = LinkTables(shared.alike, frozenset((HERE.source, reported_holders.SOURCE)))
        self._bindings = LinkBindings(
            hello.node,
            shared.bindings,
            shared.nodes,
            shared.holders,
            shared.clock,
            reports_others=reports_others,
        )
        self._clock = NodeClock(boot_ms)
        self._room = asyncio.Semaphore(ON_THE_LINE)
        self._byte_room = ByteSemaphore(MAX_WAITING_BYTES)
        self._last = 0
        self._refused: list[tuple[int, str]] = []
        self._news = asyncio.Event()
        self._failure: StoreUnavailableError | None = None
        self._closing: Goodbye | None = None
        self._asked: dict[int, tuple[int, asyncio.Future[CommandResult]]] = {}
        self._commands = 0
        self._questions: set[asyncio.Future[None]] = set()

    @property
    def place(self) -> str:
        """Return where the agent is, in words."""
        client = self._socket.client
        return f"{client.host if client else '?'} (host {self.hello.host or '?'})"

    def end(self, reason: str, *, removed: bool = False) -> None:
        """Have the connection closed."""
        self._closing = Goodbye(reason, removed)
        self._news.set()

    def release(self) -> None:
        """Let go of what the connection holds in memory."""
        self._tables.close()

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
            for task in (*tasks, *self._questions):
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            for _, answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(WebSocketDisconnect())
        for outcome in ended:
            if isinstance(outcome, Exception) and not isinstance(outcome, WebSocketDisconnect):
                raise outcome

    async def answers(self, seconds: float) -> bool:
        """Tell whether the agent is still there."""
        return await self.order(PING, {}, seconds) is not None

    async def order(self, name: str, arguments: dict[str, Any], seconds: float) -> CommandResult | None:
        """Have the agent do something of its list; return what it replies, nothing if it does not."""
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(name, arguments)
        except (TimeoutError, WebSocketDisconnect, RuntimeError):
            return None

    async def _receive(self) -> None:
        while not self.said_goodbye:
            data = await self._socket.receive_bytes()
            size = len(data)
            message = await parse(size, messages.decode, data)
            if self._closing:
                continue  # not acknowledged, so it is said again wherever the agent goes
            self._shared.nodes.mark_seen(self.hello.node)
            if isinstance(message, FrameMessage):
                await self._store(message.sequence, partial(self._append, self._frames(message)), size)
            elif isinstance(message, TableMessage | DeltaMessage):
                await self._announce(message)
            elif isinstance(message, EventMessage):
                await self._store(message.sequence, partial(self._note, message), size)
            elif isinstance(message, BindingMessage):
                await self._store(message.sequence, partial(self._bind, parse_binding(message)), size)
            elif isinstance(message, CommandResult):
                self._replied(message)
            elif isinstance(message, Goodbye):
                self.said_goodbye = True
            elif message is not None:
                await self._handle_other(message, size)

    async def _handle_other(self, message: messages.Message, size: int) -> None:
        if isinstance(message, HeldBindings):
            await self._replace_held(message, size)
        elif isinstance(message, InventoryMessage):
            self._shared.nodes.set_inventory(self.hello.node, message.has)
        elif isinstance(message, DelegatedRequest):
            await self._question(message)
        else:
            raise MalformedMessageError(f"an agent does not say {type(message).__name__}")

    async def _announce(self, message: TableMessage | DeltaMessage) -> None:
        """Learn a table; in a thread if it is long, or its difference is to a long one."""
        gpus = await parse(self._tables.cost(message), self._learn_table, message)
        node = self.hello.node
        if gpus and self._shared.nodes.set_gpus(node, gpus):
            self._shared.writer.run_later(partial(self._shared.events.add_gpu_indexes, node, gpus))

    def _learn_table(self, message: TableMessage | DeltaMessage) -> dict[str, str]:
        """Return which GPU sits at which PCI address, if the table says so."""
        return gpus_by_pci_bus_id(self._tables.announce(message))

    async def _question(self, ask: DelegatedRequest) -> None:
        """Have a question of somebody on the node answered beside everything else."""
        if len(self._questions) >= QUESTIONS:
            await self._say(DelegatedResponse(ask.number, 503, b"too many questions of this node at once\n"))
            return
        task = asyncio.ensure_future(self._answer(ask))
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)

    async def _answer(self, ask: DelegatedRequest) -> None:
        answer = await self._shared.delegated_auth.answer(self.hello.node, ask)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the link was cut meanwhile
            await self._say(answer)

    def _frames(self, message: FrameMessage) -> list[tuple[str, ModelFrame]]:
        """Return what each job has in the frame, with tables and numbers as the store takes them."""
        plan = self._tables.plan(tuple([number for number, _ in message.parts]))
        sizes = [len(data) for _, data in message.parts]
        if sizes != plan.sizes:
            raise MalformedMessageError(
                f"{sum(sizes)} bytes of values for tables that have {sum(plan.sizes)}"
            )
        values = [np.frombuffer(data, FLOATS) for _, data in message.parts]
        jobs: dict[str, list[Any]] = {
            job: [(table, values[place]) for place, table in tables] for job, tables in plan.jobs.items()
        }
        time_ms = self._clock.time_of(message)
        self._shared.nodes.set_clock_offset(self.hello.node, self._clock.offset_ms)
        if JOB in jobs or not jobs:  # what exporters said alone comes beside a frame of the same time
            jobs.setdefault(JOB, []).append((HERE, (1.0, self._clock.offset_ms / 1000)))
            jobs[JOB] += self._bindings.reported(plan.jobs.get(JOB, []))
        return [(job, ModelFrame(time_ms, tuple(parts))) for job, parts in jobs.items()]

    def _append(self, frames: list[tuple[str, ModelFrame]]) -> None:
        now, time_ms = self._shared.clock(), frames[0][1].time_ms
        if not now - self._shared.age_ms <= time_ms <= now + AHEAD_MS:
            raise InvalidInputError(f"{time_ms} is older than what is kept or more than 10 minutes ahead")
        # What we scrape ourselves, too, would be there twice.
        frames = [
            each for each in frames if each[0] == JOB or not self._shared.scraped(self.hello.node, each[0])
        ]
        for job, frame in frames:
            target = {"instance": self.hello.node, "job": job}
            self._shared.store.append(target, frame)
            if self._shared.pass_on:
                self._shared.pass_on.write_frame(target, _with_floats(frame))
            self._shared.counts.samples += sum(len(values) for _, values in frame.parts)
        relayed = [job for job, _ in frames if job != JOB]
        self._shared.activity.add_frame(self.hello.node, time_ms, self.hello.cadence, relayed)
        self._shared.counts.frames += 1

    def _note(self, message: EventMessage) -> None:
        node = self._bindings.place_of(message.kind, message.where)
        where = self._shared.nodes.add_gpu_index(node, {**message.where, "node": node})
        event = ModelEvent(
            message.kind, message.begin_ms, message.what, where, message.end_ms, message.severity
        )
        self._shared.events.add(event)
        self._shared.counts.events += 1

    def _bind(self, binding: ModelBinding) -> None:
        self._bindings.add(binding)
        self._shared.counts.bindings += 1

    async def _replace_held(self, message: HeldBindings, size: int) -> None:
        """Have all that is held now stored; it has no sequence, since it is told on each connection."""
        held = self._bindings.collect(message)
        if held is not None:
            await self._submit(self._last, partial(self._bindings.replace, held), size)

    async def _store(self, sequence: int, store: Callable[[], None], size: int) -> None:
        if sequence <= self._last:
            raise MalformedMessageError(f"sequence {sequence} came after {self._last}")
        self._last = sequence
        await self._submit(sequence, store, size)

    async def _submit(self, sequence: int, store: Callable[[], None], size: int) -> None:
        await self._room.acquire()
        await self._byte_room.acquire(size)
        await self._shared.writer.submit(store, partial(self._stored, sequence, size), size)

    def _stored(self, sequence: int, size: int, outcome: Outcome) -> None:
        self._room.release()
        self._byte_room.release(size)
        if isinstance(outcome, StoreUnavailableError):
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
        while await self.answers(SILENT_SECONDS):
            await asyncio.sleep(PING_SECONDS)

    async def _ask(self, name: str, arguments: dict[str, Any]) -> CommandResult:
        self._commands += 1
        number = self._commands
        answer: asyncio.Future[CommandResult] = asyncio.get_running_loop().create_future()
        self._asked[number] = (self._shared.clock(), answer)
        try:
            await self._say(Command(number, name, arguments))
            return await answer
        finally:
            del self._asked[number]

    def _replied(self, reply: CommandResult) -> None:
        asked = self._asked.get(reply.number)
        if asked is None or asked[1].done():
            return
        sent, answer = asked
        now = self._shared.clock()
        if reply.uptime_ms and 0 <= now - sent <= ROUND_TRIP_MS:
            self._measured(reply.uptime_ms, (sent + now) // 2)
        answer.set_result(reply)

    def _measured(self, uptime_ms: int, at_ms: int) -> None:
        if uptime_ms and self._clock.measured(uptime_ms, at_ms):
            self._shared.nodes.set_boot_time(self.hello.node, self._clock.boot_ms)

    async def _say(self, message: messages.Message) -> None:
        await self._socket.send_bytes(messages.encode(message))


def _with_floats(frame: ModelFrame) -> ModelFrame:
    parts = [(table, tuple(np.asarray(values).tolist())) for table, values in frame.parts]
    return ModelFrame(frame.time_ms, tuple(parts))
