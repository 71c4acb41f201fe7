"""Reads a trace of PyTorch's profiler (Chrome's JSON) in pieces, so that its size does not matter.

The file is cut between two events about every 4 MB and each piece decoded into typed structs: 2 GB take
seconds and about 100 MB of memory, where decoding the whole takes 4 GB. A cut inside a name that looks like
the end of an event fails to decode and is tried again with the next piece.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

PIECE_BYTES = 4 * 1024 * 1024
MAX_TRACE_BYTES = 8 * 1024**3  # decompressed; a larger file is refused, it may be a bomb
MAX_HEAD_BYTES = 64 * 1024 * 1024
CUT_SEARCH_BYTES = 64 * 1024
MAX_REJOINED = 8  # fragments of one event whose name looks like a separator

_SEPARATOR = re.compile(rb"\}(\s*),\s*\{")
_ARRAY_END = re.compile(rb"\}\s*\]")
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_GZIP_MAGIC = b"\x1f\x8b"

Identifier = int | str | float | None


class InvalidTraceError(ValueError):
    """The file is no trace; the message says why."""


class TraceArgs(msgspec.Struct, gc=False):
    """The arguments of an event that the analysis uses."""

    name: str | None = None
    correlation: Identifier = None
    collective: str | None = msgspec.field(name="Collective name", default=None)
    group: str | None = msgspec.field(name="Process Group Name", default=None)
    sequence: Identifier = msgspec.field(name="Seq", default=None)
    elements: Identifier = msgspec.field(name="In msg nelems", default=None)
    dtype: str | None = None
    group_size: Identifier = msgspec.field(name="Group size", default=None)
    finished: bool | None = None


class TraceEvent(msgspec.Struct, gc=False):
    """One event; times are microseconds after the trace's base time."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: Identifier = None
    tid: Identifier = None
    ts: float | None = None
    dur: float | None = None
    args: TraceArgs | None = None


_decode_events = msgspec.json.Decoder(list[TraceEvent]).decode
_decode_event = msgspec.json.Decoder(TraceEvent).decode


def open_trace(stream: io.BufferedIOBase) -> io.BufferedIOBase:
    """Return the JSON of a trace file, whether it is compressed or not; the stream must be seekable."""
    magic = stream.read(2)
    stream.seek(0)
    return gzip.GzipFile(fileobj=stream) if magic == _GZIP_MAGIC else stream


class TraceReader:
    """Yields the events of one trace in batches; its metadata is complete after the last batch."""

    def __init__(
        self, stream: io.BufferedIOBase, *, max_bytes: int = MAX_TRACE_BYTES, piece_bytes: int = PIECE_BYTES
    ):
        self._stream, self._max_bytes, self._piece_bytes = stream, max_bytes, piece_bytes
        self._bytes = 0
        self.metadata: dict[str, Any] = {}
        self.bad_events = 0
        self.is_truncated = False

    def read_batches(self) -> Iterator[list[TraceEvent]]:
        """Yield the events; a broken event is counted in `bad_events` and left out."""
        buffer = self._read_head()
        patience = 2 * self._piece_bytes + CUT_SEARCH_BYTES
        while piece := self._read_piece():
            buffer += piece
            cut = self._find_cut(buffer)
            if cut is None:
                continue
            events = self._try_decode(buffer[:cut])
            if events is None:  # the cut may stand inside a name: try again with more
                if len(buffer) < patience:
                    continue
                events, cut = self._decode_singly(buffer[:cut])
            yield events
            buffer = buffer[cut:].lstrip().removeprefix(b",")
        yield self._read_tail(buffer)

    def _read_piece(self) -> bytes:
        parts: list[bytes] = []
        missing = self._piece_bytes
        while missing > 0 and (part := self._read_part(missing)):
            parts.append(part)
            missing -= len(part)
        piece = b"".join(parts)
        self._bytes += len(piece)
        if self._bytes > self._max_bytes:
            raise InvalidTraceError(f"the trace is larger than {self._max_bytes >> 20} MiB")
        return piece

    def _read_part(self, size: int) -> bytes:
        """Read what is at hand; of a compressed file that was cut off, all that comes before the cut."""
        try:
            return self._stream.read1(size)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.is_truncated = True
            return b""

    def _read_head(self) -> bytes:
        """Read the metadata before the events and return what follows their opening bracket."""
        buffer = self._read_piece()
        if buffer.lstrip()[:1] == b"[":  # older exporters write a bare list
            return buffer.lstrip()[1:]
        while (match := _EVENTS_KEY.search(buffer)) is None:
            piece = self._read_piece()
            if not piece or len(buffer) > MAX_HEAD_BYTES:
                raise InvalidTraceError("the file has no list of traceEvents")
            buffer += piece
        self._add_metadata(buffer[: match.start()].rstrip().removesuffix(b",") + b"}")
        return buffer[match.end() :]

    def _read_tail(self, buffer: bytes) -> list[TraceEvent]:
        """Decode the last events and the metadata behind them."""
        ends = [match.end() - 1 for match in _ARRAY_END.finditer(buffer)]
        if buffer.lstrip()[:1] == b"]":
            ends.insert(0, buffer.index(b"]"))
        for decode in (self._try_decode, self._decode_rest):
            for end in reversed(ends):
                if self._is_metadata(buffer[end + 1 :]) and (events := decode(buffer[:end])) is not None:
                    self._add_metadata(b"{" + buffer[end + 1 :].strip().removeprefix(b","))
                    return events
        self.is_truncated = True
        return self._decode_singly(buffer)[0]

    def _decode_rest(self, piece: bytes) -> list[TraceEvent]:
        events, end = self._decode_singly(piece)
        self.bad_events += end < len(piece)
        return events

    @staticmethod
    def _is_metadata(text: bytes) -> bool:
        text = text.strip()
        if not text:  # a bare list has nothing behind it
            return True
        try:
            json.loads(b"{" + text.removeprefix(b","))
        except ValueError:
            return False
        return True

    @staticmethod
    def _find_cut(buffer: bytes) -> int | None:
        """Return where the last whole event of the buffer seems to end."""
        start = max(0, len(buffer) - CUT_SEARCH_BYTES)
        separators = list(_SEPARATOR.finditer(buffer, start)) or list(_SEPARATOR.finditer(buffer, 0, start))
        return separators[-1].start() + 1 if separators else None

    @staticmethod
    def _try_decode(piece: bytes) -> list[TraceEvent] | None:
        try:
            return _decode_events(b"[" + piece + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _decode_singly(self, piece: bytes) -> tuple[list[TraceEvent], int]:
        """Decode event by event, and return how far that went: what is left may go on in the next piece.

        A name that looks like a separator cuts its event in two, so fragments are joined again.
        """
        events: list[TraceEvent] = []
        begin = fragment = failures = done = 0
        for end, following in _split(piece):
            event = _decode_or_none(piece[begin:end])
            if event is None and fragment != begin:
                event = _decode_or_none(piece[fragment:end])
                self.bad_events += failures if event is not None else 0  # what came before it was broken
            fragment = following
            if event is None and failures < MAX_REJOINED:
                failures += 1
                continue
            if event is None:
                self.bad_events += failures + 1
            else:
                events.append(event)
            begin, failures, done = following, 0, end
        return events, done

    def _add_metadata(self, text: bytes) -> None:
        try:
            metadata = json.loads(text)
        except ValueError:  # the events matter more than what stands around them
            return
        if isinstance(metadata, dict):
            self.metadata.update(metadata)


def _split(piece: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each event seems to end, and where the next begins."""
    for match in _SEPARATOR.finditer(piece):
        yield match.start() + 1, match.end() - 1
    yield len(piece), len(piece)


def _decode_or_none(text: bytes) -> TraceEvent | None:
    try:
        return _decode_event(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
