"""Reads /dev/kmsg: never waits, never reads a record twice, and counts those that it missed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, MutableMapping

from vigie.sources._log_lines import LogLine, record

LONGEST_RECORD = 8192
KMSG = (1, 11)  # its device; in some containers another stands under its name
MOST_READS = 4096  # a turn; what is behind them comes with the next


class KmsgUnavailableError(Exception):
    """The device cannot be read; the message says why."""


class Kmsg:
    """The kernel's ring of messages, read on from where it was left, before a restart too."""

    def __init__(self, path: str, boot_id: str, kept: MutableMapping[str, str]) -> None:
        self.lost = 0
        self._kept, self._boot_id = kept, boot_id
        same_boot = kept.get("boot_id") == boot_id
        self._last = int(kept["sequence"]) if same_boot and kept.get("sequence", "").isdecimal() else None
        self._rest = b""
        self._read_at = 0  # wall clock, ms; 0 before the first turn
        self._descriptor = _opened(path)

    def lines(self, now_ms: int, boot_ms: int) -> Iterator[LogLine]:
        """Yield what is new; a record between two turns was written between them, whatever drift says."""
        earliest = self._read_at
        for text in self._texts():
            found = record(text)
            if found is None or (self._last is not None and found.sequence <= self._last):
                continue
            if self._last is not None:
                self.lost += found.sequence - self._last - 1
            self._last = found.sequence
            if found.by_kernel:
                yield LogLine(min(max(boot_ms + found.since_boot_ms, earliest), now_ms), found.text)
        self._read_at = now_ms

    def keep(self) -> None:
        """Remember how far it was read, when what was read is told."""
        if self._last is not None:
            self._kept["boot_id"], self._kept["sequence"] = self._boot_id, str(self._last)

    def close(self) -> None:
        """Let go of the device."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _texts(self) -> Iterator[str]:
        for _ in range(MOST_READS):
            try:
                data = os.read(self._descriptor, LONGEST_RECORD)
            except BlockingIOError:
                return
            except BrokenPipeError:  # the ring has overwritten what was next; go on with what is there
                continue
            if not data:
                return
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._rest = self._rest[-LONGEST_RECORD:]
            yield from (line.decode("utf-8", "replace") for line in whole)


def _opened(path: str) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise KmsgUnavailableError(f"{path}: {error.strerror}") from None
    status = os.fstat(descriptor)
    device = (os.major(status.st_rdev), os.minor(status.st_rdev))
    if stat.S_ISCHR(status.st_mode) and device != KMSG:
        os.close(descriptor)
        raise KmsgUnavailableError(f"{path} is another device here")
    return descriptor
