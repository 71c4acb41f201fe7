"""What waits for the server: frames, events and bindings, alone in memory or many in one piece on disk."""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from vigie.model import Binding, Event, Frame, Table
from vigie.wire import messages, table_codec
from vigie.wire.messages import UNREADABLE, MalformedMessageError

OVERHEAD = 200  # bytes of an entry in memory beside its values
A_PART = 100
MAX_PIECE = 32 << 20  # bytes of a piece, unpacked


class EncodedFrame(NamedTuple):
    """A frame whose numbers are bytes already; its moment also on the clock that nobody steps."""

    time_ms: int
    uptime_ms: int
    parts: tuple[tuple[Table, bytes], ...]


Entry = EncodedFrame | Event | Binding


def size(entry: Entry) -> int:
    """Return about how much memory an entry takes."""
    if isinstance(entry, EncodedFrame):
        return OVERHEAD + sum(len(data) + A_PART for _, data in entry.parts)
    return OVERHEAD * 4


def time_of(entry: Entry) -> int:
    """Return when what the entry tells began."""
    if isinstance(entry, EncodedFrame):
        return entry.time_ms
    return entry.begin_ms if isinstance(entry, Event) else entry.from_ms


def values_of(frame: Frame, uptime_ms: int) -> EncodedFrame:
    """Return a frame as it waits."""
    return EncodedFrame(frame.time_ms, uptime_ms, tuple((table, packed(n)) for table, n in frame.parts))


def packed(numbers: Iterable[float]) -> bytes:
    """Return numbers as little-endian float64, bit for bit."""
    values = array("d", numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def message_of(entry: Entry, sequence: int, number: dict[int, int]) -> messages.Message:
    """Return what is sent for an entry; `number` gives that of a table by its id()."""
    if isinstance(entry, EncodedFrame):
        parts = [(number[id(table)], data) for table, data in entry.parts]
        return messages.FrameMessage(sequence, entry.time_ms, entry.uptime_ms, parts)
    if isinstance(entry, Event):
        return messages.EventMessage(
            sequence, entry.kind, entry.begin_ms, entry.what, dict(entry.where), entry.end_ms, entry.severity
        )
    return binding_message(entry, sequence)


def binding_message(binding: Binding, sequence: int) -> messages.BindingMessage:
    """Return what is sent for a binding."""
    return messages.BindingMessage(sequence, *binding[:-1], facts=dict(binding.facts))


def binding_of(message: messages.BindingMessage) -> Binding:
    return Binding(*(getattr(message, name) for name in Binding._fields))


class _Piece(Struct):
    boot_id: str
    tables: list[tuple[str, int, bytes]]  # source, version, layout; frames name them by their place
    entries: list[messages.FrameMessage | messages.EventMessage | messages.BindingMessage]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Piece)


def piece_of(entries: Sequence[Entry], boot_id: str) -> bytes:
    """Return many entries, with the tables that they need, as one piece for the disk."""
    tables: dict[int, Table] = {}
    for entry in entries:
        if isinstance(entry, EncodedFrame):
            tables.update((id(table), table) for table, _ in entry.parts)
    number = {key: place for place, key in enumerate(tables)}
    body = _Piece(
        boot_id,
        [(table.source, table.version, table_codec.pack(table.series)) for table in tables.values()],
        [message_of(entry, place, number) for place, entry in enumerate(entries, 1)],  # type: ignore[misc]
    )
    return zlib.compress(_encoder.encode(body), 1)


def entries_of(data: bytes, boot_id: str) -> list[Entry]:
    """Return the entries of a piece, or raise Malformed; uptimes of another boot mean nothing."""
    try:
        unpacker = zlib.decompressobj()
        body = _decoder.decode(unpacker.decompress(data, MAX_PIECE))
    except (zlib.error, *UNREADABLE) as error:
        raise MalformedMessageError(f"no piece of ours: {error}") from None
    tables = [Table(source, version, table_codec.unpack(layout)) for source, version, layout in body.tables]
    try:
        return list(_entries(body, tables, same_boot=body.boot_id == boot_id))
    except IndexError:
        raise MalformedMessageError("a frame of a table that is not there") from None


def _entries(body: _Piece, tables: list[Table], *, same_boot: bool) -> Iterator[Entry]:
    for held in body.entries:
        if isinstance(held, messages.FrameMessage):
            parts = tuple((tables[number], data) for number, data in held.parts)
            yield EncodedFrame(held.time_ms, held.uptime_ms if same_boot else 0, parts)
        elif isinstance(held, messages.EventMessage):
            yield Event(held.kind, held.begin_ms, held.what, held.where, held.end_ms, held.severity)
        else:
            yield binding_of(held)
