"""A thread that is handed all that waits at once, so that it costs one sync."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BatchWorker(Generic[T]):
    """Takes jobs in the order in which they came, so many at a time at most, and so many seconds apart.

    A job that comes alone is taken at once; those that come in the time after it are taken together.
    """

    def __init__(
        self, name: str, take: Callable[[list[T]], None], most: int, room: int = 0, apart: float = 0.0
    ) -> None:
        self._take, self._most, self._apart = take, most, apart
        self._closing = threading.Event()
        self._jobs: queue.Queue[T | None] = queue.Queue(room)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return self._jobs.qsize()

    def put(self, job: T) -> None:
        """Add a job, or raise queue.Full."""
        self._jobs.put_nowait(job)

    def close(self) -> None:
        """Do what waits, and end."""
        self._closing.set()
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        going, due = True, 0.0
        while going:
            jobs = [self._jobs.get()]
            self._rest_until(due)
            due = time.monotonic() + self._apart
            while len(jobs) < self._most and not self._jobs.empty():
                jobs.append(self._jobs.get())
            going = None not in jobs
            if some := [job for job in jobs if job is not None]:
                self._take(some)

    def _rest_until(self, due: float) -> None:
        """Let more jobs come, unless there are enough."""
        rest = due - time.monotonic()
        if rest > 0 and self.waiting < self._most:
            self._closing.wait(rest)
