"""Delays deletions until forked children have opened their snapshot."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT_SECONDS = 5.0  # a child needs milliseconds; one that hangs is not waited for
STEP_SECONDS = 0.002


class ForkBarrier:
    """A file lock that a child inherits at the fork, and releases when it has its snapshot, or dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = -1

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock during a fork; the parent releases it at the end."""
        self._held = self._open()
        parent = os.getpid()
        fcntl.flock(self._held, fcntl.LOCK_SH)
        try:
            yield
        finally:
            if os.getpid() == parent:
                self.release()

    def release(self) -> None:
        """Release this process's share of the lock."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def wait(self) -> None:
        """Wait until every forked child has its snapshot."""
        handle = self._open()
        deadline = time.monotonic() + WAIT_SECONDS
        try:
            while not _try_lock(handle) and time.monotonic() < deadline:
                time.sleep(STEP_SECONDS)
        finally:
            os.close(handle)

    def _open(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
