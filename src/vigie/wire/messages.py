"""Messages between agent and server: one msgpack map per binary WebSocket message.

Unknown fields and message types are ignored, so either side may be newer. A field is never renamed and
never changes its meaning; new fields have defaults.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from vigie.model.binding import MAX_NODE_NAMES

PROTOCOL = 1
MAX_MESSAGE = 8 << 20
RELAYED_PREFIX = "exporter/"  # prefix of the source of a relayed table; the exporter's job name follows
MAX_TABLES = 1024  # table numbers that a connection may use at once
MAX_BINDINGS = 4096  # of one message
MAX_HELD_MESSAGES = 16  # for all current bindings

Name = Annotated[str, Meta(max_length=253)]
Text = Annotated[str, Meta(max_length=4096)]
Labels = Annotated[dict[Name, Text], Meta(max_length=256)]
Number = Annotated[int, Meta(ge=0, lt=MAX_TABLES)]
Sequence = Annotated[int, Meta(ge=1, lt=1 << 62)]
Time = Annotated[int, Meta(gt=-(1 << 62), lt=1 << 62)]

# Invalid UTF-8 and out-of-range numbers raise ValueError and ArithmeticError.
DECODE_ERRORS = (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError)


class MalformedMessageError(Exception):
    """Not a message of this protocol."""


class Hello(Struct, tag="hello", omit_defaults=True):
    """First message of the agent: its identity and inventory."""

    protocol: int
    node: Name
    start: Name  # random, chosen at start: sequence numbers are relative to it
    version: Name = ""
    host: Name = ""
    addresses: Annotated[list[Name], Meta(max_length=256)] = []
    machine_id: Name = ""
    boot_id: Name = ""
    inventory: Labels = {}
    labels: Labels = {}
    cadence: Annotated[float, Meta(ge=0.1, le=3600)] = 10.0
    wall_ms: Time = 0
    uptime_ms: Time = 0  # monotonic clock, since boot_id
    listen: Name = ""  # address for scraping; empty if only reachable from its own machine


class Welcome(Struct, tag="welcome", omit_defaults=True):
    """First message of the server. It contains a key if the agent authenticated with the join token."""

    protocol: int
    acknowledged: int = 0
    key: Text = ""
    wall_ms: Time = 0


class TableMessage(Struct, tag="table"):
    """A table and its number on this connection. The layout is encoded by `table_codec`."""

    number: Number
    source: Name
    version: int
    layout: bytes


class DeltaMessage(Struct, tag="delta"):
    """A table as the difference to another one."""

    number: Number
    base: Number
    version: int
    added: bytes  # layout of the added series
    places: list[int]  # their positions in the new table
    ended: list[int]  # positions of the removed series in the old table


class FrameMessage(Struct, tag="frame"):
    """Values of some tables at one time, as little-endian float64, bit for bit."""

    sequence: Sequence
    time_ms: Time
    uptime_ms: Time  # the same time on the monotonic clock, or 0
    parts: Annotated[list[tuple[int, bytes]], Meta(max_length=MAX_TABLES)]  # table number, values


class EventMessage(Struct, tag="event", omit_defaults=True):
    """An event on the node."""

    sequence: Sequence
    kind: Name
    begin_ms: Time
    what: Text
    where: Labels = {}
    end_ms: Time | None = None
    severity: Name = "info"


class BindingMessage(Struct, tag="binding", omit_defaults=True):
    """A binding on the node, or on another one that the scheduler reported."""

    sequence: Sequence
    resource: Name
    holder_kind: Name
    holder: Text
    from_ms: Time
    to_ms: Time | None = None
    user: Name = ""
    source: Name = ""
    facts: Labels = {}
    node_names: Annotated[list[Name], Meta(max_length=MAX_NODE_NAMES)] = []  # of another node, surest first


class HeldBindings(Struct, tag="held", omit_defaults=True):
    """All current bindings of the node, sent on each connection. Bindings not in it have ended.

    Many are split over several messages, all but the last with `more`.
    """

    bindings: Annotated[list[BindingMessage], Meta(max_length=MAX_BINDINGS)]
    more: bool = False


class InventoryMessage(Struct, tag="inventory"):
    """The hardware of the machine, sent when it differs from the hello."""

    has: Labels


class Ack(Struct, tag="ack", omit_defaults=True):
    """Everything up to this sequence number is synced, except for what was rejected, with reasons."""

    sequence: int
    refused: list[tuple[int, str]] = []


class Command(Struct, tag="command", omit_defaults=True):
    """A request of the server. The agent accepts a closed list of names."""

    number: int
    name: Name
    arguments: dict[str, Any] = {}


class CommandResult(Struct, tag="reply", omit_defaults=True):
    number: int
    refused: Text = ""
    uptime_ms: Time = 0
    text: Text = msgspec.field(default="", name="said")  # the outcome, for people
    data: bytes = b""  # for the server; what it is depends on the command


class DelegatedRequest(Struct, tag="ask"):
    """A GET request by a user of the node, vouched for by the agent. Never a change."""

    number: Annotated[int, Meta(ge=0, lt=1 << 62)]
    user: Name
    target: Annotated[str, Meta(max_length=65536)]  # path and query


class DelegatedResponse(Struct, tag="answer"):
    """The server's response to a delegated request."""

    number: int
    status: Annotated[int, Meta(ge=100, le=599)]
    body: bytes


class Goodbye(Struct, tag="goodbye", omit_defaults=True):
    """Last message of either side, with a reason. A removed node does not reconnect."""

    reason: Text = ""
    removed: bool = False


Message = (
    Hello
    | Welcome
    | TableMessage
    | DeltaMessage
    | FrameMessage
    | EventMessage
    | BindingMessage
    | HeldBindings
    | InventoryMessage
    | Ack
    | Command
    | CommandResult
    | DelegatedRequest
    | DelegatedResponse
    | Goodbye
)
KINDS = frozenset(str(kind.__struct_config__.tag) for kind in Message.__args__)


class _Kind(Struct):
    type: str


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_kind = msgspec.msgpack.Decoder(_Kind)


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


def decode(data: bytes) -> Message | None:
    """Return the message, None for a type only a newer version knows, or raise MalformedMessageError."""
    try:
        return _decoder.decode(data)
    except DECODE_ERRORS as error:
        try:
            known = _kind.decode(data).type in KINDS
        except DECODE_ERRORS:
            known = True
        if known:
            raise MalformedMessageError(f"invalid message: {error}") from None
        return None
