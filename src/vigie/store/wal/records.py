"""The records of a log segment: definitions, rows of values, deletions.

A segment is self-contained. Rows that were appended together are one record, XORed with the previous record
of the same streams, so that unchanged values compress to nothing. Every 32nd is not (a key record), so that a
damaged record costs a few minutes of rows at most. Definitions are numbered, so that rows whose definition
was damaged are never attributed to another stream.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

import cramjam
import msgspec
import numpy as np
from numpy.typing import NDArray

from vigie.store.compression.codec import Floats, Times, bits, shuffle
from vigie.store.errors import CorruptionError, InvalidInputError
from vigie.store.series.layout import Key, Layout, Layouts

MAX_TIME = 1 << 62
LAYOUT, STREAM, CHANGE, KEY, ROWS, DELETE = b"L", b"S", b"C", b"K", b"R", b"X"
LEVEL = 1
KEY_INTERVAL = 32  # records of the same streams
_COUNT = struct.Struct("<I")
_GARBAGE = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    struct.error,
    cramjam.DecompressionError,
    msgspec.MsgspecError,
)


def check_time(time: int) -> None:
    """Reject what cannot be milliseconds since 1970, with a margin for arithmetic."""
    if not -MAX_TIME < time < MAX_TIME:
        raise InvalidInputError(f"{time} is not a time in milliseconds")


class StreamName(NamedTuple):
    """The identity of a stream in log and blocks."""

    target: tuple[tuple[str, str], ...]
    source: str
    framed: bool


class WalRow(NamedTuple):
    """The values of one stream at one time, in the order of the layout."""

    stream: StreamName
    layout: Layout
    time: int
    values: Floats


class RowSet:
    """Streams and layouts whose rows arrive together, and whether they will again."""

    def __init__(self, streams: Sequence[tuple[StreamName, Layout]], *, recurs: bool) -> None:
        self.streams, self.recurs = streams, recurs


class WalBatch(NamedTuple):
    """Rows that were appended together: their values concatenated in the order of the streams."""

    row_set: RowSet
    times: Sequence[int]
    values: Floats

    @classmethod
    def of(cls, rows: Sequence[WalRow]) -> WalBatch:
        """Return a batch whose combination of streams may not occur again."""
        row_set = RowSet([(row.stream, row.layout) for row in rows], recurs=False)
        return cls(row_set, [row.time for row in rows], np.concatenate([row.values for row in rows]))


class WalRows(NamedTuple):
    """Rows of one stream, in log order."""

    stream: StreamName
    layout: Layout
    positions: Times
    times: Times
    values: Floats


class WalDeletion(NamedTuple):
    """Targets that were deleted with all their data."""

    targets: list[tuple[tuple[str, str], ...]]


class PlainRecord(NamedTuple):
    position: int
    kind: bytes
    number: int  # of the definition, or the number of rows
    content: bytes


class _StreamSet(NamedTuple):
    """Streams whose rows are in one record, and their total width."""

    streams: list[tuple[StreamName, Layout]]
    width: int


class _Chain:
    def __init__(self, numbers: bytes) -> None:
        self.numbers = numbers
        self.words = np.empty(0, dtype=np.uint64)
        self.length = KEY_INTERVAL

    def next(self, words: NDArray[np.uint64]) -> tuple[bytes, NDArray[np.uint64]]:
        """Return the kind of the next record, and its content."""
        before, self.words = self.words, words
        if self.length >= KEY_INTERVAL:
            self.length = 1
            return KEY, words
        self.length += 1
        return ROWS, words ^ before


class WalEncoder:
    """Encodes the payloads of one segment."""

    def __init__(self) -> None:
        self._layouts: dict[Layout, int] = {}
        self._defined: dict[StreamName, tuple[int, Layout]] = {}
        self._row_sets: WeakKeyDictionary[RowSet, _Chain] = WeakKeyDictionary()
        self._chains: WeakValueDictionary[bytes, _Chain] = WeakValueDictionary()  # by stream numbers
        self._next = 0

    def encode_rows(self, batch: WalBatch) -> Iterator[bytes]:
        """Yield missing definitions, then the rows as one payload."""
        chain = self._row_sets.get(batch.row_set)
        if chain is None:
            yield from self._define_all(batch.row_set)
            chain = self._chain(batch.row_set)
        times = struct.pack(f"<{len(batch.times)}q", *batch.times)
        kind, changes = chain.next(bits(batch.values))
        content = chain.numbers + times + shuffle(changes)
        yield kind + _COUNT.pack(len(batch.times)) + bytes(cramjam.lz4.compress_block(content))

    def encode_deletion(self, targets: Sequence[tuple[tuple[str, str], ...]]) -> bytes:
        return DELETE + _COUNT.pack(0) + _json(list(targets))

    def _define_all(self, row_set: RowSet) -> Iterator[bytes]:
        for stream, layout in row_set.streams:
            known = self._defined.get(stream)
            if known is None or known[1] is not layout:
                yield from self._define(stream, layout, known)

    def _chain(self, row_set: RowSet) -> _Chain:
        some = [self._defined[stream][0] for stream, _ in row_set.streams]
        numbers = struct.pack(f"<{len(some)}I", *some)
        chain = self._chains.get(numbers) or _Chain(numbers)
        if row_set.recurs:
            self._row_sets[row_set] = self._chains[numbers] = chain
        return chain

    def _define(
        self, stream: StreamName, layout: Layout, known: tuple[int, Layout] | None
    ) -> Iterator[bytes]:
        number, self._next = self._next, self._next + 1
        self._defined[stream] = (number, layout)
        if known is not None:
            change = {"base": known[0], **_diff(known[1].series, layout.series)}
            yield CHANGE + _COUNT.pack(number) + _json(change)
            return
        if layout not in self._layouts:
            self._layouts[layout] = len(self._layouts)
            yield LAYOUT + _COUNT.pack(self._layouts[layout]) + _json(layout.series)
        yield STREAM + _COUNT.pack(number) + _json({"stream": stream, "layout": self._layouts[layout]})


def decompress_record(position: int, payload: bytes) -> PlainRecord:
    """Decompress a record; independent of other records, so that it can run ahead."""
    try:
        (count,) = _COUNT.unpack_from(payload, 1)
        kind, pressed = payload[:1], memoryview(payload)[1 + _COUNT.size :]
        press = cramjam.lz4.decompress_block if kind in (KEY, ROWS) else cramjam.zstd.decompress
        return PlainRecord(position, kind, count, bytes(press(pressed)))
    except _GARBAGE as error:
        raise CorruptionError(f"a record with a right checksum makes no sense: {error}") from error


class WalDecoder:
    """Decodes the records of one segment in order, and yields rows in bulk."""

    def __init__(self, layouts: Layouts, texts: dict[bytes, Layout]) -> None:
        self._known, self._texts = layouts, texts  # texts: layouts that other segments had too
        self._layouts: dict[int, Layout] = {}
        self._defined: dict[int, tuple[StreamName, Layout]] = {}
        self._stream_sets: dict[bytes, _StreamSet] = {}  # by stream numbers, like all below
        self._records: dict[bytes, list[PlainRecord]] = {}
        self._last: dict[bytes, NDArray[np.uint64]] = {}
        self._intact: set[bytes] = set()  # sets whose previous record is intact
        self.lost = 0  # rows that depend on a damaged record

    def add(self, record: PlainRecord) -> WalDeletion | None:
        """Add a record; a deletion applies to all records before it."""
        try:
            return self._add(record)
        except _GARBAGE as error:
            raise CorruptionError(f"a record with a right checksum makes no sense: {error}") from error

    def mark_gap(self) -> None:
        """Note that records are missing here."""
        self._intact.clear()

    def drain(self) -> Iterator[list[WalRows]]:
        """Yield the rows of all records added so far, grouped by stream, a few streams at a time."""
        records, self._records = self._records, {}
        sets = Counter(stream for numbers in records for stream, _ in self._stream_sets[numbers].streams)
        shared: list[WalRows] = []
        for numbers in list(records):
            rows = self._join_records(numbers, records.pop(numbers))
            if all(sets[stream] == 1 for stream, _ in self._stream_sets[numbers].streams):
                yield list(rows)
            else:
                shared += rows
        yield shared

    def _add(self, record: PlainRecord) -> WalDeletion | None:
        kind, number, content = record.kind, record.number, record.content
        if kind in (KEY, ROWS):
            self._add_rows(record)
        elif kind == LAYOUT:
            if content not in self._texts:
                self._texts[content] = self._known.of(tuple(map(_pairs, msgspec.json.decode(content))))
            self._layouts[number] = self._texts[content]
        elif kind == STREAM:
            fields = msgspec.json.decode(content)
            target, source, framed = fields["stream"]
            self._defined[number] = (
                StreamName(_pairs(target), str(source), bool(framed)),
                self._layouts[fields["layout"]],
            )
        elif kind == CHANGE:
            fields = msgspec.json.decode(content)
            stream, old = self._defined[fields["base"]]
            self._defined[number] = (stream, self._known.of(_apply_change(old.series, fields)))
        elif kind == DELETE:
            return WalDeletion([_pairs(target) for target in msgspec.json.decode(content)])
        else:
            raise ValueError(f"there is no kind {kind!r}")
        return None

    def _add_rows(self, record: PlainRecord) -> None:
        numbers = record.content[: 4 * record.number]
        known = self._stream_sets.get(numbers) or self._load_set(numbers)
        if known is None or (record.kind == ROWS and numbers not in self._intact):
            self._intact.discard(numbers)
            self.lost += record.number
            return
        if len(record.content) != 12 * record.number + 8 * known.width:
            raise ValueError("its length does not fit its streams")
        self._intact.add(numbers)
        self._records.setdefault(numbers, []).append(record)

    def _load_set(self, numbers: bytes) -> _StreamSet | None:
        streams = [self._defined.get(number) for number in np.frombuffer(numbers, np.uint32).tolist()]
        complete = [defined for defined in streams if defined is not None]
        if len(complete) < len(streams):
            return None
        known = self._stream_sets[numbers] = _StreamSet(complete, sum(len(layout) for _, layout in complete))
        return known

    def _join_records(self, numbers: bytes, records: Sequence[PlainRecord]) -> Iterator[WalRows]:
        count = records[0].number
        positions = np.array([record.position for record in records], dtype=np.int64)
        times = np.frombuffer(
            b"".join([record.content[4 * count : 12 * count] for record in records]), np.int64
        ).reshape(len(records), count)
        words = self._words(numbers, records)
        at = 0
        for i, (stream, layout) in enumerate(self._stream_sets[numbers].streams):
            values = words[:, at : at + len(layout)].view(np.float64)
            yield WalRows(stream, layout, positions, times[:, i], values)
            at += len(layout)

    def _words(self, numbers: bytes, records: Sequence[PlainRecord]) -> NDArray[np.uint64]:
        head = 12 * records[0].number
        planes = np.frombuffer(b"".join([record.content[head:] for record in records]), np.uint8)
        planes = planes.reshape(len(records), 8, -1)
        words = planes.transpose(0, 2, 1).copy().view(np.uint64)[:, :, 0]
        if records[0].kind == ROWS:
            words[0] ^= self._last[numbers]
        keys = [i for i, record in enumerate(records) if record.kind == KEY and i]
        for first, last in zip([0, *keys], [*keys, len(records)], strict=True):
            np.bitwise_xor.accumulate(words[first:last], axis=0, out=words[first:last])
        self._last[numbers] = words[-1].copy()
        return words


def _diff(old: tuple[Key, ...], new: tuple[Key, ...]) -> dict[str, Any]:
    position_of = {key: i for i, key in enumerate(old)}
    positions = [position_of.get(key) for key in new]
    kept = [at for at in positions if at is not None]
    if kept != sorted(kept):
        return {"removed": list(range(len(old))), "added": list(enumerate(new))}
    return {
        "removed": sorted(set(range(len(old))).difference(kept)),
        "added": [(i, new[i]) for i, at in enumerate(positions) if at is None],
    }


def _apply_change(old: tuple[Key, ...], fields: Mapping[str, Any]) -> tuple[Key, ...]:
    ended = set(fields["removed"])
    series = [key for i, key in enumerate(old) if i not in ended]
    for i, key in fields["added"]:
        series.insert(i, _pairs(key))
    return tuple(series)


def _pairs(fields: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in fields)


def _json(fields: Any) -> bytes:
    return _compress(msgspec.json.encode(fields))


def _compress(content: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(content, level=LEVEL))
