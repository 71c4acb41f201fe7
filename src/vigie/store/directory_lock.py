"""Allows one process per data directory, and one format version."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from vigie.store.errors import DirectoryLockedError, NewerFormatError, OlderFormatError, StoreError

FORMAT = 6


class DirectoryLock:
    """Held while the store is open; the kernel releases it when the process dies."""

    def __init__(self, directory: Path) -> None:
        self._file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise DirectoryLockedError(
                f"{directory} is in use by process {holder}; stop it, or choose another directory: --data DIR"
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._file)


def check_format(directory: Path) -> None:
    """Write the format version of a new directory; refuse another version."""
    path = directory / "format"
    try:
        text = path.read_text()
    except FileNotFoundError:
        _write(path, f"{FORMAT}\n")
        return
    if not text.strip().isdigit():
        raise StoreError(f"{path} holds no format version but {text[:40]!r}; is this a store?")
    if int(text) > FORMAT:
        raise NewerFormatError(
            f"{directory} has format {int(text)}, this vigie reads format {FORMAT}; use a newer vigie"
        )
    if int(text) < FORMAT:
        raise OlderFormatError(
            f"{directory} has format {int(text)}, from before the first release, and can no longer be read; "
            f"to start over: mv {directory} {directory}.old"
        )


def sync_directory(directory: Path) -> None:
    """Make created and removed names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    with fresh.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_directory(path.parent)
