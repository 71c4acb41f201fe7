"""What agent and server say to each other: one msgpack map in each binary WebSocket message.

A field or a kind of message that one side does not know is passed over, so that either may be newer. A
field is never renamed and never changes its meaning; new ones have defaults.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

PROTOCOL = 1
MAX_MESSAGE = 8 << 20
RELAYED_PREFIX = "exporter/"  # so begins the source of a table that an exporter gave; its job follows
MAX_TABLES = 1024  # numbers that a connection may have in use at once
MAX_BINDINGS = 4096  # bindings of one node at one time

Name = Annotated[str, Meta(max_length=253)]
Text = Annotated[str, Meta(max_length=4096)]
Labels = Annotated[dict[Name, Text], Meta(max_length=256)]
Number = Annotated[int, Meta(ge=0, lt=MAX_TABLES)]
Sequence = Annotated[int, Meta(ge=1, lt=1 << 62)]
Time = Annotated[int, Meta(gt=-(1 << 62), lt=1 << 62)]

# Text that is no UTF-8 and numbers beyond bounds come as ValueError and ArithmeticError.
DECODE_ERRORS = (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError)


class MalformedMessageError(Exception):
    """Bytes that are no message of ours."""


class Hello(Struct, tag="hello", omit_defaults=True):
    """The agent's first word: who it is and what its machine has."""

    protocol: int
    node: Name
    start: Name  # made when the agent starts: sequences count within it
    version: Name = ""
    host: Name = ""
    addresses: Annotated[list[Name], Meta(max_length=256)] = []
    machine_id: Name = ""
    boot_id: Name = ""
    inventory: Labels = {}
    labels: Labels = {}
    cadence: Annotated[float, Meta(ge=0.1, le=3600)] = 10.0
    wall_ms: Time = 0
    uptime_ms: Time = 0  # a clock that nobody steps, since boot_id
    listen: Name = ""  # where it can be scraped; nothing when only from its own machine


class Welcome(Struct, tag="welcome", omit_defaults=True):
    """The server's first word; a key comes when the agent showed the join token."""

    protocol: int
    acknowledged: int = 0
    key: Text = ""
    wall_ms: Time = 0


class TableMessage(Struct, tag="table"):
    """A table under a number of this connection; the layout is packed by `layouts`."""

    number: Number
    source: Name
    version: int
    layout: bytes


class DeltaMessage(Struct, tag="delta"):
    """A table that is like the one under another number, but for some series."""

    number: Number
    base: Number
    version: int
    added: bytes  # a layout of what is new
    places: list[int]  # where it stands in the new table
    ended: list[int]  # where in the old table stood what is gone


class FrameMessage(Struct, tag="frame"):
    """The values of some tables at one time, as little-endian float64, bit for bit."""

    sequence: Sequence
    time_ms: Time
    uptime_ms: Time  # the same moment on the clock that nobody steps, or 0
    parts: list[tuple[int, bytes]]  # a table's number, its values


class EventMessage(Struct, tag="event", omit_defaults=True):
    """Something that happened on the node."""

    sequence: Sequence
    kind: Name
    begin_ms: Time
    what: Text
    where: Labels = {}
    end_ms: Time | None = None
    severity: Name = "info"


class BindingMessage(Struct, tag="binding", omit_defaults=True):
    """Who held what on the node."""

    sequence: Sequence
    resource: Name
    holder_kind: Name
    holder: Text
    from_ms: Time
    to_ms: Time | None = None
    user: Name = ""
    source: Name = ""
    facts: Labels = {}


class HeldBindings(Struct, tag="held"):
    """All that is held on the node now, said anew on each connection: what is not in it has ended."""

    bindings: Annotated[list[BindingMessage], Meta(max_length=MAX_BINDINGS)]


class InventoryMessage(Struct, tag="inventory"):
    """What the machine has, when that is not any more what the hello said."""

    has: Labels


class Ack(Struct, tag="ack", omit_defaults=True):
    """Everything up to a sequence is synced, but for what could not be taken and why."""

    sequence: int
    refused: list[tuple[int, str]] = []


class Command(Struct, tag="command", omit_defaults=True):
    """What the server asks; the agent has a closed list of what it does."""

    number: int
    name: Name
    arguments: dict[str, Any] = {}


class CommandResult(Struct, tag="reply", omit_defaults=True):
    number: int
    refused: Text = ""
    uptime_ms: Time = 0
    text: Text = msgspec.field(default="", name="said")  # the outcome, for people


class DelegatedRequest(Struct, tag="ask"):
    """A question of somebody on the node, for whom the agent vouches; always a GET, and never a change."""

    number: Annotated[int, Meta(ge=0, lt=1 << 62)]
    user: Name
    target: Annotated[str, Meta(max_length=65536)]  # path and query


class DelegatedResponse(Struct, tag="answer"):
    """What the server answers to a question."""

    number: int
    status: Annotated[int, Meta(ge=100, le=599)]
    body: bytes


class Goodbye(Struct, tag="goodbye", omit_defaults=True):
    """The last word of either side, and why; a node that was removed does not come back by itself."""

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
    """Return the message, nothing for one of a kind that only a newer version knows, or raise Malformed."""
    try:
        return _decoder.decode(data)
    except DECODE_ERRORS as error:
        try:
            known = _kind.decode(data).type in KINDS
        except DECODE_ERRORS:
            known = True
        if known:
            raise MalformedMessageError(f"no message of this protocol: {error}") from None
        return None
