"""A bounded queue on disk: checksummed records in segments, the oldest dropped first.

A record is its length, its checksum, how many samples it holds, when it was put, and its bytes. What a
killed process left half written is told by the checksum; a new process begins a new segment, so nothing
follows a torn record. Nothing is synced: a killed process loses nothing, a power cut the last seconds.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HEADER = struct.Struct("<IIIq")
POSITION = struct.Struct("<QQI")
MAX_RECORD = 32 << 20
SEGMENTS = 16  # so many of them make up a full queue: what is dropped is a sixteenth


class SpoolRecord(NamedTuple):
    """Some samples, ready to be sent, and when they were put here."""

    samples: int
    time_ms: int
    body: bytes


class SpoolSegment:
    """One file of records, in order."""

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.number = path, number
        self.bytes = path.stat().st_size if path.exists() else 0

    def records(self, offset: int) -> Iterator[tuple[SpoolRecord, int]]:
        """Yield the whole records from a place on, each with the place after it."""
        with self.path.open("rb") as file:
            file.seek(offset)
            while header := file.read(HEADER.size):
                if len(header) < HEADER.size:
                    return
                length, checksum, samples, time_ms = HEADER.unpack(header)
                body = file.read(length) if length <= MAX_RECORD else b""
                if len(body) < length or _checksum(samples, time_ms, body) != checksum:
                    return
                offset += HEADER.size + length
                yield SpoolRecord(samples, time_ms, body), offset

    def samples(self, offset: int) -> int:
        """Return how many samples can still be read behind a place."""
        try:
            return sum(record.samples for record, _ in self.records(offset))
        except OSError:
            return 0


class Spool:
    """The queue: put at one end, look at the other, and go on when what was seen is delivered."""

    def __init__(self, directory: Path, most: int) -> None:
        self.dropped = 0  # samples, because the queue was full
        self.damaged = 0  # bytes that could not be read back
        self.trouble = ""  # why the disk is no help; records that it does not take wait in memory
        self._most = most
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._lock = _locked(directory)
        self._segments = deque(_find_segments(directory))
        self._position = os.open(directory / "position", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._offset = self._kept_offset()
        self._output: int | None = None
        self._waiting: deque[SpoolRecord] = deque()  # in memory, while the disk does not take them
        self._next: tuple[SpoolRecord, int] | None = None

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self._segments) - self._offset + _size(self._waiting)

    @property
    def oldest_ms(self) -> int | None:
        """Return when the oldest record that was looked at was put, without asking the disk."""
        if self._next:
            return self._next[0].time_ms
        return self._waiting[0].time_ms if self._waiting else None

    def put(self, record: SpoolRecord) -> None:
        """Add a record behind all others."""
        self._waiting.append(record)
        try:
            while self._waiting:
                self._write(self._waiting[0])
                self._waiting.popleft()
            self.trouble = ""
        except OSError as error:
            self._note(error)
            while _size(self._waiting) > self._most // SEGMENTS and len(self._waiting) > 1:
                self.dropped += self._waiting.popleft().samples
        while self.bytes > self._most and len(self._segments) > 1:
            self._drop_oldest()

    def peek(self) -> SpoolRecord | None:
        """Return the oldest record, which stays until it is taken."""
        while self._next is None and self._segments:
            oldest = self._segments[0]
            try:
                self._next = next(oldest.records(self._offset), None)
            except OSError as error:
                self.trouble = f"{oldest.path}: {error.strerror or error}"
            if self._next is None:
                if len(self._segments) == 1 and self._output is not None:
                    break
                self.damaged += oldest.bytes - self._offset
                self._leave_oldest()
        if self._next:
            return self._next[0]
        return self._waiting[0] if self._waiting else None

    def take(self, record: SpoolRecord) -> None:
        """Be done with the oldest record, unless it was dropped meanwhile."""
        if self.peek() != record:
            return
        if self._next is None:
            self._waiting.popleft()
            return
        self._offset = self._next[1]
        self._next = None
        self._keep_offset()

    def close(self) -> None:
        """Let go of the directory; what is queued stays."""
        self._close_output()
        os.close(self._position)
        os.close(self._lock)

    def _write(self, record: SpoolRecord) -> None:
        if self._output is None or self._segments[-1].bytes >= self._most // SEGMENTS:
            self._begin_segment()
        assert self._output is not None
        checksum = _checksum(record.samples, record.time_ms, record.body)
        header = HEADER.pack(len(record.body), checksum, record.samples, record.time_ms)
        data = header + record.body
        segment = self._segments[-1]
        if os.write(self._output, data) < len(data):
            os.ftruncate(self._output, segment.bytes)  # nothing may follow a torn record
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        segment.bytes += len(data)

    def _begin_segment(self) -> None:
        number = self._segments[-1].number + 1 if self._segments else self._last_number() + 1
        path = self._directory / f"{number:012}.queue"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        output = os.open(path, flags, 0o600)
        self._close_output()
        self._output = output
        self._segments.append(SpoolSegment(path, number))

    def _close_output(self) -> None:
        output, self._output = self._output, None
        if output is not None:
            os.close(output)

    def _drop_oldest(self) -> None:
        self.dropped += self._segments[0].samples(self._offset)
        self._leave_oldest()

    def _leave_oldest(self) -> None:
        oldest = self._segments.popleft()
        self._next, self._offset = None, 0
        if not self._segments:
            self._close_output()
        self._keep_offset(after=oldest.number)
        try:
            oldest.path.unlink(missing_ok=True)
        except OSError as error:
            self._note(error)

    def _keep_offset(self, after: int = 0) -> None:
        # Written in place, in one small write: that needs no space on a full disk.
        number = self._segments[0].number if self._segments else after
        data = struct.pack("<QQ", number, self._offset)
        try:
            os.pwrite(self._position, data + struct.pack("<I", zlib.crc32(data)), 0)
        except OSError as error:  # a new process would give out again what was taken since
            self._note(error)

    def _note(self, error: OSError) -> None:
        self.trouble = f"{self._directory}: {error.strerror or error}"

    def _read_position(self) -> tuple[int, int]:
        data = os.pread(self._position, POSITION.size, 0)
        if len(data) == POSITION.size and zlib.crc32(data[:16]) == POSITION.unpack(data)[2]:
            number, offset, _ = POSITION.unpack(data)
            return number, offset
        return 0, 0

    def _kept_offset(self) -> int:
        number, offset = self._read_position()
        while self._segments and self._segments[0].number < number:
            self._segments.popleft().path.unlink(missing_ok=True)
        here = self._segments and self._segments[0].number == number and offset <= self._segments[0].bytes
        return offset if here else 0

    def _last_number(self) -> int:
        return self._read_position()[0]


def _checksum(samples: int, time_ms: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<Iq", samples, time_ms)))


def _find_segments(directory: Path) -> list[SpoolSegment]:
    paths = sorted(path for path in directory.glob("*.queue") if path.stem.isdecimal())
    return [SpoolSegment(path, int(path.stem)) for path in paths]


def _locked(directory: Path) -> int:
    lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise BlockingIOError(
            f"{directory} is in use by another process; stop it, or choose another --data"
        ) from None
    return lock


def _size(records: deque[SpoolRecord]) -> int:
    return sum(len(record.body) for record in records)
