"""Buffered entries: frames, events and bindings, single in memory or as a segment on disk."""

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
from vigie.wire.bindings import build_binding_message, parse_binding
from vigie.wire.messages import DECODE_ERRORS, MalformedMessageError

OVERHEAD_BYTES = 200  # memory of an entry without its values
PART_BYTES = 100
MAX_SEGMENT = 32 << 20  # bytes, decompressed


class EncodedFrame(NamedTuple):
    """A frame with encoded values, and its time on the monotonic clock."""

    time_ms: int
    uptime_ms: int
    parts: tuple[tuple[Table, bytes], ...]


Entry = EncodedFrame | Event | Binding


def estimate_size(entry: Entry) -> int:
    if isinstance(entry, EncodedFrame):
        return OVERHEAD_BYTES + sum(len(data) + PART_BYTES for _, data in entry.parts)
    return OVERHEAD_BYTES * 4


def get_time(entry: Entry) -> int:
    """Return the time at which the entry's fact began."""
    if isinstance(entry, EncodedFrame):
        return entry.time_ms
    return entry.begin_ms if isinstance(entry, Event) else entry.from_ms


def encode_frame(frame: Frame, uptime_ms: int) -> EncodedFrame:
    return EncodedFrame(frame.time_ms, uptime_ms, tuple((table, pack_values(n)) for table, n in frame.parts))


def pack_values(numbers: Iterable[float]) -> bytes:
    """Encode values as little-endian float64, bit for bit."""
    values = array("d", numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def build_message(entry: Entry, sequence: int, number: dict[int, int]) -> messages.Message:
    """Build the message for an entry. `number` maps the id() of a table to its number."""
    if isinstance(entry, EncodedFrame):
        parts = [(number[id(table)], data) for table, data in entry.parts]
        return messages.FrameMessage(sequence, entry.time_ms, entry.uptime_ms, parts)
    if isinstance(entry, Event):
        return messages.EventMessage(
            sequence, entry.kind, entry.begin_ms, entry.what, dict(entry.where), entry.end_ms, entry.severity
        )
    return build_binding_message(entry, sequence)


class _Segment(Struct):
    boot_id: str
    tables: list[tuple[str, int, bytes]]  # source, version, layout; frames refer to them by index
    entries: list[messages.FrameMessage | messages.EventMessage | messages.BindingMessage]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Segment)


def encode_segment(entries: Sequence[Entry], boot_id: str) -> bytes:
    """Encode entries, with the tables they need, as one segment."""
    tables: dict[int, Table] = {}
    for entry in entries:
        if isinstance(entry, EncodedFrame):
            tables.update((id(table), table) for table, _ in entry.parts)
    number = {key: index for index, key in enumerate(tables)}
    body = _Segment(
        boot_id,
        [(table.source, table.version, table_codec.encode_layout(table.series)) for table in tables.values()],
        [build_message(entry, index, number) for index, entry in enumerate(entries, 1)],  # type: ignore[misc]
    )
    return zlib.compress(_encoder.encode(body), 1)


def decode_segment(data: bytes, boot_id: str) -> list[Entry]:
    """Decode a segment, or raise MalformedMessageError. Uptimes of another boot are dropped."""
    try:
        unpacker = zlib.decompressobj()
        body = _decoder.decode(unpacker.decompress(data, MAX_SEGMENT))
    except (zlib.error, *DECODE_ERRORS) as error:
        raise MalformedMessageError(f"invalid segment: {error}") from None
    tables = [
        Table(source, version, table_codec.decode_layout(layout)) for source, version, layout in body.tables
    ]
    try:
        return list(_entries(body, tables, same_boot=body.boot_id == boot_id))
    except IndexError:
        raise MalformedMessageError("frame refers to an unknown table") from None


def _entries(body: _Segment, tables: list[Table], *, same_boot: bool) -> Iterator[Entry]:
    for held in body.entries:
        if isinstance(held, messages.FrameMessage):
            parts = tuple((tables[number], data) for number, data in held.parts)
            yield EncodedFrame(held.time_ms, held.uptime_ms if same_boot else 0, parts)
        elif isinstance(held, messages.EventMessage):
            yield Event(held.kind, held.begin_ms, held.what, held.where, held.end_ms, held.severity)
        else:
            yield parse_binding(held)
