"""Follows a log file across rotations and restarts, in bounded chunks."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

MAX_BYTES = 1 << 20  # per read
FIRST_BYTES = 1 << 18  # of lines from before the first read


class LogFile:
    """A log file. The position is saved with the inode, so that a renamed file is read to its end."""

    def __init__(self, path: str, kept: MutableMapping[str, str]) -> None:
        self.path = path
        self._state = kept
        self._next: dict[str, str] = {}

    def lines(self) -> list[str]:
        """Return new complete lines, or raise OSError."""
        with open(self.path, "rb") as now:
            inode, size = _get_inode(now.fileno())
            before, offset = self._position()
            rotated: list[str] = []
            if before is None:
                offset = _find_line_start(now.fileno(), size)
            elif before != inode:
                rotated, offset = self._rotated(before, offset), 0
            elif offset > size:
                offset = 0  # truncated and rewritten
            offset, lines = _read_chunk(now.fileno(), offset)
        self._next = {"log": self.path, "inode": str(inode), "offset": str(offset)}
        return rotated + lines

    def save(self) -> None:
        """Save the position, after the events up to it were reported."""
        self._state.update(self._next)

    def _position(self) -> tuple[int | None, int]:
        words = (self._state.get("inode", ""), self._state.get("offset", ""))
        if self._state.get("log") != self.path or not all(word.isdecimal() for word in words):
            return None, 0
        return int(words[0]), int(words[1])

    def _rotated(self, inode: int, offset: int) -> list[str]:
        """Return the rest of a rotated file, unless it was compressed."""
        directory, name = os.path.split(self.path)
        for other in sorted(os.listdir(directory)):
            if not other.startswith(name) or other == name:
                continue
            try:
                with open(os.path.join(directory, other), "rb") as file:
                    if _get_inode(file.fileno())[0] == inode:
                        return _read_chunk(file.fileno(), offset)[1]
            except OSError:
                continue
        return []


def _get_inode(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_ino, status.st_size


def _find_line_start(descriptor: int, size: int) -> int:
    """Return the offset of the first complete line in the file's last chunk."""
    start = max(size - FIRST_BYTES, 0)
    if not start:
        return 0
    newline = os.pread(descriptor, FIRST_BYTES, start).find(b"\n")
    return start + newline + 1 if newline >= 0 else size


def _read_chunk(descriptor: int, offset: int) -> tuple[int, list[str]]:
    """Return the complete lines from an offset, and the offset after them."""
    data = os.pread(descriptor, MAX_BYTES, offset)
    end = data.rfind(b"\n") + 1
    if not end and len(data) == MAX_BYTES:
        end = len(data)  # the kernel writes no line longer than a chunk
    return offset + end, data[:end].decode("utf-8", "replace").splitlines()
