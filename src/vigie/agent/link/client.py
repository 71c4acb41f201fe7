"""Connects to the server and sends entries: live first, then the backlog, each until acknowledged."""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus, WebSocketException

from vigie.agent.link.buffer import LinkBuffer
from vigie.agent.link.commands import CommandRunner
from vigie.agent.link.credentials import (
    LinkCredentials,
    NoCredentialsError,
    WrongCertificateError,
    pinned_context,
)
from vigie.agent.link.delegated_requests import DelegatedRequests
from vigie.agent.link.entries import encode_frame
from vigie.agent.link.flow_control import FlowControl
from vigie.agent.link.hello import NodeDescription, uptime_ms
from vigie.agent.link.sent_tables import SentTables
from vigie.common.change_logger import ChangeLogger
from vigie.common.endpoint import TlsOptions
from vigie.common.redaction import redact_url
from vigie.model import Binding, Event, Frame
from vigie.wire import messages
from vigie.wire.bindings import build_held_messages
from vigie.wire.messages import (
    Ack,
    Command,
    DelegatedResponse,
    Goodbye,
    InventoryMessage,
    MalformedMessageError,
    Welcome,
)

log = logging.getLogger(__name__)

OPEN_SECONDS = 10.0
PING_SECONDS = 20.0
ACK_SECONDS = 60.0  # time to acknowledge an entry before reconnecting
STOP_SECONDS, LAST_WORD_SECONDS = 3.0, 0.5
FIRST_WAIT, LONGEST_WAIT = 0.25, 16.0
BACKOFF = 1.5  # factor, so that the wait is a third of the outage so far
INVENTORY_SECONDS = 30.0
BACKLOG_RATE = 20.0  # entries per second
AUTH_STATUSES = (401, 403)


class LinkRejectedError(Exception):
    """The server rejected the link; the message is its reason."""


class NodeRemovedError(Exception):
    """The node was removed; the message is the server's."""


class ServerPeer(NamedTuple):
    """A server and how to authenticate to it."""

    url: str
    credentials: LinkCredentials
    tls: TlsOptions = TlsOptions()
    fingerprint: str = ""


class LinkCounters:
    def __init__(self) -> None:
        self.connected = False
        self.sent = self.acknowledged = self.refused = self.connections = 0


class LinkClient:
    def __init__(
        self,
        peer: ServerPeer,
        node: NodeDescription,
        buffer: LinkBuffer,
        commands: CommandRunner | None = None,
    ) -> None:
        self.url = redact_url(peer.url)
        self.counters = LinkCounters()
        self.buffer = buffer
        self._peer, self._node, self._commands = peer, node, commands or CommandRunner()
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._log_change = ChangeLogger(f"link to {self.url}")
        self._attempt = 0  # index of the credential to try next
        self._dropped = 0  # as reported to the server
        self._progress = 0.0
        self.wait = FIRST_WAIT  # before reconnecting
        self._removed = False
        self._flow = FlowControl(time.monotonic())
        self._held: Sequence[Binding] | None = None  # None: not known yet
        self._held_due = self._backlog_sent = False
        self._requests = DelegatedRequests()
        self._inventory: dict[str, str] = {}  # as reported to the server
        self._inventory_due = 0.0

    def __call__(self, frame: Frame) -> None:
        if self._removed:
            return
        # Age of the frame by the wall clock, bounded in case the clock was stepped.
        age = min(max(time.time_ns() // 1_000_000 - frame.time_ms, 0), 60_000)
        self.buffer.put(encode_frame(frame, uptime_ms() - age))
        self._wake.set()

    def record_event(self, event: Event) -> None:
        if self._removed:
            return
        self.buffer.put(event)
        self._wake.set()

    def replace_held(self, changes: Sequence[Binding], held: Sequence[Binding]) -> None:
        """Add bindings that began or ended, and replace the set of current ones."""
        if self._removed:
            return
        self._held = held
        for binding in changes:
            self.buffer.put(binding)
        self._wake.set()

    def state(self) -> dict[str, Any]:
        """Return the state of the link, for people."""
        waiting = self.buffer.bytes + self.buffer.disk_bytes
        trouble = self._log_change.text
        return {
            "server": self.url,
            "connected": self.counters.connected,
            "waiting_bytes": waiting,
            "trouble": trouble,
        }

    async def request(self, user: str, target: str) -> tuple[int, bytes]:
        """Return status and body of the server's response to a GET request by a local user."""
        return await self._requests.request(user, target)

    async def run(self) -> None:
        """Connect and reconnect until stopped."""
        while not self._stopping.is_set():
            before = self.counters.acknowledged
            try:
                why = await self._connect()
                # Back off from a server that connects but acknowledges nothing, as with a full disk.
                progressed = self.counters.acknowledged > before
                self.wait = FIRST_WAIT if progressed else min(self.wait * BACKOFF, LONGEST_WAIT)
            except NodeRemovedError as error:
                self._removed = True
                self._log_change(f"{error}; nothing more is sent")
                return
            except Exception as error:  # an internal error must not stop the link for good
                log.exception("internal error in the link to %s", self.url)
                why, self.wait = f"internal error: {error}", LONGEST_WAIT
            finally:
                self.buffer.disconnect()
            if self._stopping.is_set():
                return
            self._log_change(why)
            # Jitter: a thousand agents must not reconnect at the same moment.
            await self._wait_for_stop(self.wait * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret

    def stop(self) -> None:
        """Send what is possible within a moment, say goodbye, and keep the rest on disk."""
        self._stopping.set()
        self._wake.set()

    def close(self) -> None:
        """Write unacknowledged entries to disk."""
        self.buffer.close()

    async def _connect(self) -> str:
        """Return why the connection, or the attempt, ended."""
        try:
            candidates = self._peer.credentials.candidates()
            token = candidates[self._attempt % len(candidates)]
            async with _Dial(
                _format_address(self._peer.url),
                additional_headers={"Authorization": f"Bearer {token}"},
                ssl=await self._context(),
                server_hostname=self._peer.tls.server_name or None,
                compression=None,
                proxy=None,
                max_size=messages.MAX_MESSAGE,
                open_timeout=OPEN_SECONDS,
                ping_interval=PING_SECONDS,
                ping_timeout=PING_SECONDS,
                close_timeout=2,
            ) as socket:
                await self._shake_hands(socket, token)
                return await self._exchange(socket)
        except InvalidStatus as error:
            body = (error.response.body or b"")[:300].decode(errors="replace").strip()
            self._attempt += error.response.status_code in AUTH_STATUSES
            return f"HTTP {error.response.status_code} from the server: {body or 'no reason given'}"
        except LinkRejectedError as error:
            self._attempt += 1
            return str(error)
        except (NoCredentialsError, WrongCertificateError, MalformedMessageError) as error:
            return str(error)
        except (OSError, WebSocketException, ValueError) as error:
            return str(error) or type(error).__name__
        finally:
            self.counters.connected = False

    async def _context(self) -> ssl.SSLContext | None:
        parts = urlsplit(self._peer.url)
        if parts.scheme != "https":
            return None
        if not self._peer.fingerprint:
            return self._peer.tls.context()
        host, port = parts.hostname or "", parts.port or 443
        return await asyncio.to_thread(pinned_context, host, port, self._peer.fingerprint, OPEN_SECONDS)

    async def _shake_hands(self, socket: ClientConnection, candidates: str) -> None:
        hello = self._node.hello(socket.local_address[0])
        await socket.send(messages.encode(hello))
        async with asyncio.timeout(OPEN_SECONDS):
            welcome = await _receive_message(socket)
        if isinstance(welcome, Goodbye):
            raise LinkRejectedError(welcome.reason)
        if not isinstance(welcome, Welcome):
            raise MalformedMessageError("unexpected first message: is this a vigie server?")
        if welcome.key or not self._peer.credentials.is_saved(candidates):
            self._save_key(welcome.key or candidates)  # no new key: we authenticated with a valid one
        self.buffer.reconnect(welcome.acknowledged)
        self._flow = FlowControl(time.monotonic())
        self._attempt = 0
        self._held_due = True
        self._inventory, self._inventory_due = hello.inventory, time.monotonic() + INVENTORY_SECONDS
        self.counters.connected = True
        self.counters.connections += 1
        self._log_change("")

    def _save_key(self, key: str) -> None:
        try:
            self._peer.credentials.save(key)
        except OSError as error:  # a node without a disk joins again each time
            log.warning("link to %s: cannot save the key of this node: %s", self.url, error)

    async def _exchange(self, socket: ClientConnection) -> str:
        self._progress = time.monotonic()
        self._report_dropped()
        self._requests.connect(lambda ask: socket.send(messages.encode(ask)))
        sending = asyncio.ensure_future(self._send(socket))
        receiving = asyncio.ensure_future(self._receive(socket))
        try:
            await asyncio.wait([sending, receiving], return_when=asyncio.FIRST_COMPLETED)
            # The server's goodbye may still be unread when sending fails.
            await asyncio.wait([receiving], timeout=LAST_WORD_SECONDS)
        finally:
            self._requests.disconnect()
            sending.cancel()
            receiving.cancel()
            ended = await asyncio.gather(receiving, sending, return_exceptions=True)
        for outcome in ended:
            if isinstance(outcome, Exception):
                raise outcome
        return "connection closed"

    async def _send(self, socket: ClientConnection) -> None:
        tables = SentTables()
        due = time.monotonic()  # when the backlog may continue
        until = float("inf")
        while True:
            now = time.monotonic()
            await self._send_held(socket)
            await self._send_inventory(socket, now)
            next_entry = self.buffer.next_live()
            if next_entry is not None:
                self._flow.record_live(next_entry[0], now)
            self._flow.start_if_idle(now)
            if next_entry is None and now >= due and self._flow.may_send and not self._stopping.is_set():
                next_entry = self.buffer.next_waiting()
                due = max(due, now - 1.0) + 1 / BACKLOG_RATE
                if next_entry is not None:
                    self._backlog_sent = True
                    self._flow.record_sent(next_entry[0], now)
            if next_entry is not None:
                for data in tables.encode_entry(next_entry[1], next_entry[0]):
                    await socket.send(data)
                self.counters.sent += 1
                continue
            if self._stopping.is_set():
                until = min(until, now + STOP_SECONDS)
                if now >= until or not self.buffer.in_flight:
                    await socket.send(messages.encode(Goodbye("stopped")))
                    return
            self._check_progress(now)
            soon = self.buffer.has_waiting and self._flow.may_send
            await self._wait_for_work(min(max(due - now, 0.01), 1.0) if soon else 1.0)

    async def _send_held(self, socket: ClientConnection) -> None:
        """Send all current bindings: once per connection, and again after the backlog, which is older."""
        due = self._held_due or (self._backlog_sent and not self.buffer.has_waiting)
        if due and self._held is not None:
            self._held_due = self._backlog_sent = False
            for message in build_held_messages(self._held):
                await socket.send(messages.encode(message))

    async def _send_inventory(self, socket: ClientConnection, now: float) -> None:
        """Send the inventory if it changed: a driver may be loaded later."""
        if now >= self._inventory_due:
            self._inventory_due = now + INVENTORY_SECONDS
            before, self._inventory = self._inventory, self._node.inventory()
            if self._inventory != before:
                await socket.send(messages.encode(InventoryMessage(self._inventory)))

    async def _receive(self, socket: ClientConnection) -> None:
        while True:
            message = await _receive_message(socket)
            if isinstance(message, Ack):
                self._acknowledge(message)
            elif isinstance(message, DelegatedResponse):
                self._requests.resolve(message)
            elif isinstance(message, Command):
                self._commands.start(message, lambda reply: socket.send(messages.encode(reply)))
            elif isinstance(message, Goodbye):
                raise (NodeRemovedError if message.removed else LinkRejectedError)(
                    message.reason or "closed by the server"
                )

    def _acknowledge(self, ack: Ack) -> None:
        self.counters.acknowledged += self.buffer.acknowledge(ack.sequence)
        self._progress = time.monotonic()
        self._flow.acknowledge(ack.sequence, self._progress)
        if ack.refused:
            self.counters.refused += len(ack.refused)
            self._log_change(f"the server rejected {len(ack.refused)} entries: {ack.refused[0][1]}")
        self._wake.set()

    def _check_progress(self, now: float) -> None:
        if not self.buffer.in_flight:
            self._progress = now
        elif now - self._progress > ACK_SECONDS:
            raise TimeoutError(f"no acknowledgement for {ACK_SECONDS:g}s")

    def _report_dropped(self) -> None:
        lost = self.buffer.dropped - self._dropped
        if lost:
            self._dropped = self.buffer.dropped
            what = f"{lost} frames dropped: the outage was longer than the buffer lasts"
            self.record_event(Event("frames_dropped", time.time_ns() // 1_000_000, what, severity="warning"))

    async def _wait_for_work(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _wait_for_stop(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass


class _Dial(connect):
    """Connects without following redirects: the token is for this server only."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def _receive_message(socket: ClientConnection) -> messages.Message | None:
    data = await socket.recv()
    if isinstance(data, str):
        raise MalformedMessageError("unexpected text message from the server")
    return messages.decode(data)


def _format_address(url: str) -> str:
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme)
    if scheme is None or not parts.hostname:
        raise ValueError(f"invalid URL {redact_url(url)!r}: use for example http://head:8000")
    return f"{scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}/link"
