"""The write-ahead log: numbered segment files of checksummed records, synced on request.

Appending only fills a buffer. A sync writes the buffer and waits for the disk, while other threads go on
appending. Unsynced records are kept: after a failure they go into a new segment, because the kernel may have
dropped dirty pages of the old one.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from vigie.store.directory_lock import sync_directory
from vigie.store.errors import WriteFailedError
from vigie.store.series.layout import Layouts
from vigie.store.wal.records import WalBatch, WalDeletion, WalEncoder, WalRows
from vigie.store.wal.segments import (
    HEADER,
    LENGTH,
    MAGIC,
    MARK,
    SHIFT,
    SegmentDamage,
    replay_segment,
    segment_number,
)

SEGMENT_BYTES = 64 << 20
MAX_WAITING = 256 << 20  # bytes of values that may wait while the disk accepts none


def segment_of(position: int) -> int:
    return position >> SHIFT


class WriteAheadLog:
    """Uses the store's lock, which is never held while waiting for the disk."""

    def __init__(
        self,
        directory: Path,
        layouts: Layouts,
        segment_bytes: int = SEGMENT_BYTES,
        lock: threading.RLock | None = None,
    ) -> None:
        self._layouts = layouts
        self._directory = directory
        self._limit = segment_bytes
        self._lock = lock or threading.RLock()
        self._sync_lock = threading.Lock()  # one sync at a time
        self._file = -1  # none before `start`
        self._number = 0
        self._synced = 0  # bytes of the segment
        self._buffer = bytearray()
        self._unsynced: list[WalBatch | WalDeletion] = []
        self.waiting = 0  # bytes of unsynced values
        self._failed = False
        self._encoder = WalEncoder()
        directory.mkdir(exist_ok=True)
        sync_directory(directory.parent)

    @property
    def position(self) -> int:
        """Return the position of the next record."""
        return self._number << SHIFT | (self._synced + len(self._buffer))

    @property
    def bytes_on_disk(self) -> int:
        """Return the size of all segments."""
        return sum(path.stat().st_size for path in self.paths())

    def replay(self, damaged: list[SegmentDamage]) -> Iterator[list[WalRows] | tuple[int, WalDeletion]]:
        """Yield rows in bulk, and deletions with their positions; damage is skipped and recorded."""
        yield from replay_segment(self.paths(), self._layouts, damaged)
        for damage in damaged:
            if damage.lost and damage.offset + damage.lost == damage.path.stat().st_size:
                os.truncate(damage.path, damage.offset)  # so that a torn end is reported once

    def start(self, at_least: int) -> None:
        """Start a new segment, with a number that was never used."""
        known = [segment_number(path) for path in self.paths()]
        number = max([at_least, self._number + 1, *(number + 1 for number in known)])
        file = self._create(number)
        with self._lock:
            self._use_segment(number, file)

    def append_rows(self, batch: WalBatch) -> int:
        """Append rows; return their position."""
        if self.waiting > MAX_WAITING:
            raise WriteFailedError(
                f"{self.waiting} bytes wait to be written to {self._directory}; free some space on that disk"
            )
        self._unsynced.append(batch)
        self.waiting += batch.values.nbytes
        return self._encode(batch)

    def append_deletion(self, targets: Sequence[tuple[tuple[str, str], ...]]) -> None:
        record = WalDeletion(list(targets))
        self._unsynced.append(record)
        self._encode(record)

    def sync(self) -> None:
        """Return when everything appended before is durable."""
        self._sync(rotate=False)

    def rotate(self) -> None:
        """Sync, and continue in a new segment, so that the old one can be dropped."""
        self._sync(rotate=True)

    def drop_before(self, number: int) -> int:
        """Remove segments below a number; return how many."""
        old = [path for path in self.paths() if segment_number(path) < min(number, self._number)]
        for path in old:
            path.unlink()
        return len(old)

    def close(self) -> None:
        """Sync and close the file."""
        try:
            self.sync()
        finally:
            os.close(self._file)
            self._file = -1

    def paths(self) -> list[Path]:
        """Return the segments, oldest first."""
        return sorted(self._directory.glob("*.log"))

    def _sync(self, *, rotate: bool) -> None:
        with self._sync_lock:
            if self._failed:
                self._resume_in_new_segment()
            full = rotate or self._synced + len(self._buffer) > self._limit
            new = self._create(self._number + 1) if full else -1
            with self._lock:
                file, at, content = self._file, self._synced, self._buffer
                records, self._unsynced = self._unsynced, []
                waited, self.waiting = self.waiting, 0
                self._synced, self._buffer = at + len(content), bytearray()
                if full:
                    self._use_segment(self._number + 1, new)
            try:
                _write(file, content, at)
                os.fdatasync(file)
            except OSError as error:
                self._restore_unsynced(file, at, records, waited)
                raise WriteFailedError(f"cannot write to {self._directory}: {error.strerror}") from error
            finally:
                if full:
                    os.close(file)

    def _encode(self, record: WalBatch | WalDeletion) -> int:
        position = self.position
        if isinstance(record, WalDeletion):
            payloads: Iterator[bytes] = iter([self._encoder.encode_deletion(record.targets)])
        else:
            payloads = self._encoder.encode_rows(record)
        for payload in payloads:
            position = self.position
            length = LENGTH.pack(len(payload))
            self._buffer += HEADER.pack(MARK, len(payload), zlib.crc32(payload, zlib.crc32(length)))
            self._buffer += payload
        return position

    def _create(self, number: int) -> int:
        path = self._directory / f"{number:012d}.log"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_TRUNC, 0o644)
            sync_directory(self._directory)
        except OSError as error:
            raise WriteFailedError(f"cannot create {path}: {error.strerror}") from error
        return file

    def _use_segment(self, number: int, file: int) -> None:
        self._number, self._file, self._synced = number, file, 0
        self._buffer, self._encoder = bytearray(MAGIC), WalEncoder()

    def _restore_unsynced(
        self, file: int, at: int, records: list[WalBatch | WalDeletion], waited: int
    ) -> None:
        with self._lock:
            self._unsynced[:0] = records
            self.waiting += waited
            self._failed = True
        try:
            os.ftruncate(file, at)  # so that half a record is not taken for damage
        except OSError:
            pass  # reported when the store is opened next

    def _resume_in_new_segment(self) -> None:
        """Start a segment that holds all unsynced records."""
        new = self._create(self._number + 1)
        with self._lock:
            old = self._file
            self._use_segment(self._number + 1, new)
            for record in self._unsynced:
                self._encode(record)
            self._failed = False
        os.close(old)


def _write(file: int, content: bytes | bytearray, at: int) -> None:
    view = memoryview(content)
    while view:
        done = os.pwrite(file, view, at)
        view, at = view[done:], at + done
