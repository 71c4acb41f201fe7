"""The write-ahead log: numbered segment files of checksummed records, synced on request."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from vigie.store.errors import CannotWrite, Damaged
from vigie.store.layout import Layouts
from vigie.store.lock import sync_directory
from vigie.store.records import Decoder, Deletion, Encoder, Row

MAGIC = b"VIGLOG1\n"
SEGMENT_BYTES = 64 << 20
_LENGTH = struct.Struct("<I")
_HEADER = struct.Struct("<II")  # length of the payload, checksum of length and payload
_SHIFT = 40  # a position is the segment's number and, in the lower bits, the byte in it


class Damage(NamedTuple):
    """Where a segment stops making sense, and how many bytes from there on were cut."""

    path: Path
    offset: int
    lost: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: cut at byte {self.offset}, {self.lost} bytes lost: {self.reason}"


class Entry(NamedTuple):
    """A record and where it stands."""

    position: int
    record: list[Row] | Deletion


def segment_of(position: int) -> int:
    """Return the number of the segment that a position lies in."""
    return position >> _SHIFT


class Log:
    """Appends to memory at once, to the disk on sync; a segment is read back until its first damage."""

    def __init__(self, directory: Path, layouts: Layouts, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._layouts = layouts
        self._directory = directory
        self._limit = segment_bytes
        self._file = -1  # nothing is open before the first segment is begun
        self._number = 0
        self._written = 0
        self._buffer = bytearray()
        self._encoder = Encoder()
        self._failed = ""
        directory.mkdir(exist_ok=True)
        sync_directory(directory.parent)

    @property
    def position(self) -> int:
        """Return where the next record will stand."""
        return self._number << _SHIFT | (self._written + len(self._buffer))

    @property
    def waiting(self) -> int:
        """Return how many bytes wait for the disk."""
        return len(self._buffer)

    @property
    def bytes_on_disk(self) -> int:
        """Return the size of all segments."""
        return sum(path.stat().st_size for path in self._paths())

    def replay(self, damages: list[Damage]) -> Iterator[Entry]:
        """Yield every record before the first damage of each segment; cut there, and note it."""
        for path in self._paths():
            found: list[Damage] = []
            yield from _entries(path, self._layouts, found)
            for damage in found:
                os.truncate(path, damage.offset)
            damages += found

    def verify(self) -> tuple[int, list[Damage]]:
        """Read every record; return how many there are, and the damage."""
        self.write()
        damages: list[Damage] = []
        return sum(1 for path in self._paths() for _ in _entries(path, Layouts(), damages)), damages

    def start(self, at_least: int) -> None:
        """Begin a new segment, with a number that was never used."""
        known = [_number(path) for path in self._paths()]
        self._number = max([at_least, self._number + 1, *(number + 1 for number in known)])
        path = self._directory / f"{self._number:012d}.log"
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            sync_directory(self._directory)
        except OSError as error:
            raise CannotWrite(f"cannot begin {path}: {error.strerror}") from error
        self._written, self._buffer, self._encoder = 0, bytearray(MAGIC), Encoder()

    def rows(self, rows: Sequence[Row]) -> int:
        """Take rows that belong together; return where they stand."""
        for payload in self._encoder.rows(rows):
            position = self._add(payload)
        return position

    def deletion(self, targets: Sequence[tuple[tuple[str, str], ...]]) -> None:
        """Take note that targets are gone."""
        self._add(self._encoder.deletion(targets))

    def write(self) -> None:
        """Hand what waits to the operating system; after a failure it still waits."""
        while self._buffer:
            try:
                done = os.pwrite(self._file, self._buffer, self._written)
            except OSError as error:
                raise CannotWrite(f"cannot write to {self._directory}: {error.strerror}") from error
            self._written += done
            del self._buffer[:done]

    def sync(self) -> None:
        """Return when all that was taken survives a power cut."""
        self._sync()
        if self._written > self._limit:
            self.renew()

    def renew(self) -> None:
        """Sync, and go on in a new segment, so that the old one can be dropped."""
        self.close()
        self.start(0)

    def drop_before(self, number: int) -> int:
        """Remove the segments below a number; return how many there were."""
        old = [path for path in self._paths() if _number(path) < min(number, self._number)]
        for path in old:
            path.unlink()
        return len(old)

    def close(self) -> None:
        """Sync and let go of the file."""
        try:
            self._sync()
        finally:
            os.close(self._file)

    def _sync(self) -> None:
        if self._failed:
            raise CannotWrite(self._failed)
        self.write()
        try:
            os.fdatasync(self._file)
        except OSError as error:
            # The kernel has forgotten which pages it lost: a later success would be a lie.
            self._failed = f"cannot sync {self._directory}: {error.strerror}; open the store anew"
            raise CannotWrite(self._failed) from error

    def _add(self, payload: bytes) -> int:
        position = self.position
        length = _LENGTH.pack(len(payload))
        self._buffer += _HEADER.pack(len(payload), zlib.crc32(payload, zlib.crc32(length)))
        self._buffer += payload
        return position

    def _paths(self) -> list[Path]:
        return sorted(self._directory.glob("*.log"))


def _number(path: Path) -> int:
    return int(path.stem)


def _entries(path: Path, layouts: Layouts, damages: list[Damage]) -> Iterator[Entry]:
    content = path.read_bytes()
    base = _number(path) << _SHIFT
    decoder = Decoder(layouts)
    at = 0
    try:
        for at, payload in _payloads(content):
            record = decoder.read(payload)
            if record:
                yield Entry(base | at, record)
    except _Cut as cut:
        damages.append(Damage(path, cut.at, len(content) - cut.at, cut.reason))
    except Damaged as error:
        damages.append(Damage(path, at, len(content) - at, str(error)))


class _Cut(Exception):
    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.at, self.reason = at, reason


def _payloads(content: bytes) -> Iterable[tuple[int, bytes]]:
    if not content:
        return  # the segment was begun and never written to, or cut to nothing
    if not content.startswith(MAGIC):
        raise _Cut(0, "it does not begin as a log does")
    at = len(MAGIC)
    while at < len(content):
        if at + _HEADER.size > len(content):
            raise _Cut(at, "the last record is torn")
        length, checksum = _HEADER.unpack_from(content, at)
        payload = content[at + _HEADER.size : at + _HEADER.size + length]
        if len(payload) < length:
            raise _Cut(at, "the last record is torn, or its length is damaged")
        if zlib.crc32(payload, zlib.crc32(_LENGTH.pack(length))) != checksum:
            raise _Cut(at, "a record's checksum is wrong")
        yield at, payload
        at += _HEADER.size + length
