"""Reads /dev/kmsg without blocking, each record once, and counts lost records."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, MutableMapping

from vigie.sources._log_lines import LogLine, parse_record

MAX_RECORD_BYTES = 8192
KMSG = (1, 11)  # device number; in some containers another device has its name
MAX_RECORDS = 4096  # per read; the rest follows with the next


class KmsgUnavailableError(Exception):
    """The device cannot be read; the message says why."""


class Kmsg:
    """The kernel's ring buffer, read from the last position, also across restarts."""

    def __init__(self, path: str, boot_id: str, kept: MutableMapping[str, str]) -> None:
        self.lost = 0
        self._state, self._boot_id = kept, boot_id
        same_boot = kept.get("boot_id") == boot_id
        self._last = int(kept["sequence"]) if same_boot and kept.get("sequence", "").isdecimal() else None
        self._rest = b""
        self._read_at = 0  # wall clock in ms, 0 before the first read
        self._descriptor = _open(path)

    def lines(self, now_ms: int, boot_ms: int) -> Iterator[LogLine]:
        """Yield new records. Times are clamped to the interval between reads, as the clocks may drift."""
        earliest = self._read_at
        for text in self._read_records():
            found = parse_record(text)
            if found is None or (self._last is not None and found.sequence <= self._last):
                continue
            if self._last is not None:
                self.lost += found.sequence - self._last - 1
            self._last = found.sequence
            if found.by_kernel:
                yield LogLine(min(max(boot_ms + found.since_boot_ms, earliest), now_ms), found.text)
        self._read_at = now_ms

    def save(self) -> None:
        if self._last is not None:
            self._state["boot_id"], self._state["sequence"] = self._boot_id, str(self._last)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read_records(self) -> Iterator[str]:
        for _ in range(MAX_RECORDS):
            try:
                data = os.read(self._descriptor, MAX_RECORD_BYTES)
            except BlockingIOError:
                return
            except (
                BrokenPipeError
            ):  # the ring buffer has overwritten the next record; continue with the oldest
                continue
            if not data:
                return
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._rest = self._rest[-MAX_RECORD_BYTES:]
            yield from (line.decode("utf-8", "replace") for line in whole)


def _open(path: str) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise KmsgUnavailableError(f"{path}: {error.strerror}") from None
    status = os.fstat(descriptor)
    device = (os.major(status.st_rdev), os.minor(status.st_rdev))
    if stat.S_ISCHR(status.st_mode) and device != KMSG:
        os.close(descriptor)
        raise KmsgUnavailableError(f"{path} is another device")
    return descriptor
