"""What a log segment says, record by record: definitions, rows of values, deletions.

A segment stands for itself: it defines each stream before its first row, and later changes as deltas.
Rows are XORed with the stream's row before, so that what stayed the same presses to nothing.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vigie.store.codec import Floats, bits, shuffled, unshuffled
from vigie.store.errors import Damaged
from vigie.store.layout import Key, Layout, Layouts

DEFINE, ROWS, DELETE = b"D", b"R", b"X"
LEVEL = 1
_COUNT = struct.Struct("<I")


class StreamName(NamedTuple):
    """What a stream is called in the log and in the blocks."""

    target: tuple[tuple[str, str], ...]
    source: str
    framed: bool


class Row(NamedTuple):
    """The values of one stream at one time, in the order of the layout beside them."""

    stream: StreamName
    layout: Layout
    time: int
    values: Floats


class Deletion(NamedTuple):
    """Targets that were deleted with all they had."""

    targets: list[tuple[tuple[str, str], ...]]


class Encoder:
    """Writes the payloads of one segment."""

    def __init__(self) -> None:
        self._numbers: dict[StreamName, int] = {}
        self._defined: list[Layout] = []
        self._previous: list[NDArray[np.uint64]] = []

    def rows(self, rows: Sequence[Row]) -> Iterator[bytes]:
        """Yield the definitions that are missing so far, then the rows as one payload."""
        for row in rows:
            if (definition := self._define(row.stream, row.layout)) is not None:
                yield definition
        numbers = np.array([self._numbers[row.stream] for row in rows], dtype=np.uint32)
        times = np.array([row.time for row in rows], dtype=np.int64)
        words = np.concatenate(
            [self._changes(int(n), row.values) for n, row in zip(numbers, rows, strict=True)]
        )
        content = numbers.tobytes() + times.tobytes() + shuffled(words)
        yield ROWS + _COUNT.pack(len(rows)) + zlib.compress(content, LEVEL)

    def deletion(self, targets: Sequence[tuple[tuple[str, str], ...]]) -> bytes:
        """Return the payload that says that these targets are gone."""
        return DELETE + _json(list(targets))

    def _changes(self, number: int, values: Floats) -> NDArray[np.uint64]:
        words = bits(values)
        changes = words ^ self._previous[number]
        self._previous[number] = words
        return changes

    def _define(self, stream: StreamName, layout: Layout) -> bytes | None:
        number = self._numbers.get(stream)
        if number is None:
            self._numbers[stream] = len(self._defined)
            self._defined.append(layout)
            self._previous.append(np.zeros(len(layout), dtype=np.uint64))
            return DEFINE + _json({"stream": stream, "series": layout.series})
        old = self._defined[number]
        if old is layout:
            return None
        self._defined[number] = layout
        self._previous[number] = np.zeros(len(layout), dtype=np.uint64)
        return DEFINE + _json({"number": number, **_delta(old.series, layout.series)})


class Decoder:
    """Reads the payloads of one segment, in order."""

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts
        self._streams: list[StreamName] = []
        self._defined: list[Layout] = []
        self._previous: list[NDArray[np.uint64]] = []

    def read(self, payload: bytes) -> list[Row] | Deletion:
        """Return what a payload says; a definition says nothing yet."""
        try:
            return self._read(payload[:1], payload[1:])
        except (ValueError, KeyError, IndexError, TypeError, zlib.error, struct.error) as error:
            raise Damaged(f"a record with a right checksum makes no sense: {error}") from error

    def _read(self, kind: bytes, content: bytes) -> list[Row] | Deletion:
        if kind == ROWS:
            return self._rows(content)
        if kind == DEFINE:
            self._define(_object(content))
            return []
        if kind == DELETE:
            return Deletion([_pairs(target) for target in _object(content)])
        raise ValueError(f"there is no kind {kind!r}")

    def _define(self, said: Mapping[str, Any]) -> None:
        if "stream" in said:
            target, source, framed = said["stream"]
            self._streams.append(StreamName(_pairs(target), source, framed))
            layout = self._layouts.of(tuple(_pairs(key) for key in said["series"]))
            self._defined.append(layout)
            self._previous.append(np.zeros(len(layout), dtype=np.uint64))
            return
        number = said["number"]
        layout = self._layouts.of(_changed(self._defined[number].series, said))
        self._defined[number] = layout
        self._previous[number] = np.zeros(len(layout), dtype=np.uint64)

    def _rows(self, content: bytes) -> list[Row]:
        (count,) = _COUNT.unpack_from(content)
        plain = zlib.decompress(content[_COUNT.size :])
        numbers = np.frombuffer(plain, np.uint32, count)
        times = np.frombuffer(plain, np.int64, count, offset=4 * count)
        words = unshuffled(plain[12 * count :])
        rows, at = [], 0
        for number, time in zip(numbers.tolist(), times.tolist(), strict=True):
            layout = self._defined[number]
            row = words[at : at + len(layout)] ^ self._previous[number]
            self._previous[number] = row
            rows.append(Row(self._streams[number], layout, time, row.view(np.float64)))
            at += len(layout)
        return rows


def _delta(old: tuple[Key, ...], new: tuple[Key, ...]) -> dict[str, Any]:
    before, after = set(old), set(new)
    if [key for key in old if key in after] != [key for key in new if key in before]:
        return {"ended": list(range(len(old))), "added": list(enumerate(new))}
    return {
        "ended": [i for i, key in enumerate(old) if key not in after],
        "added": [(i, key) for i, key in enumerate(new) if key not in before],
    }


def _changed(old: tuple[Key, ...], said: Mapping[str, Any]) -> tuple[Key, ...]:
    ended = set(said["ended"])
    series = [key for i, key in enumerate(old) if i not in ended]
    for i, key in said["added"]:
        series.insert(i, _pairs(key))
    return tuple(series)


def _pairs(said: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in said)


def _json(said: Any) -> bytes:
    return zlib.compress(json.dumps(said, separators=(",", ":")).encode(), LEVEL)


def _object(content: bytes) -> Any:
    return json.loads(zlib.decompress(content))
