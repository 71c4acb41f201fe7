"""A thread that makes calls in turn; a call that hangs loses the thread, and the rest go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Callable

MIN_DEADLINE = 0.05

Call = Callable[[], None]
Batch = tuple[list[Call], Callable[[], object]]


class Lane:
    """Makes calls one after the other, off the caller's thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._worker = _Worker(name)

    def submit(self, calls: Sequence[Call], done: Callable[[], object]) -> None:
        """Make the calls in turn, then call `done` once, on the lane's thread."""
        self._worker.queue.put((list(calls), done))

    def stuck_for(self) -> float:
        """Return for how many seconds the present call has been running; 0 when idle."""
        since = self._worker.since
        return time.monotonic() - since if since else 0.0

    def skip(self, longer_than: float) -> Call | None:
        """Leave a call that has run longer behind on its own thread, and go on with the others."""
        worker = self._worker
        with worker.lock:
            if not worker.since or time.monotonic() - worker.since <= longer_than:
                return None
            worker.abandoned = True
            hung = worker.current
        self._worker = _Worker(self._name, worker)
        return hung

    def close(self) -> None:
        """Let the thread end when it has nothing left to do."""
        self._worker.queue.put(None)


class _Worker:
    """One thread of a lane, with the batch it is working on."""

    def __init__(self, name: str, heir_of: _Worker | None = None) -> None:
        self.lock = threading.Lock()
        self.abandoned = False
        self.since = 0.0
        self.current: Call | None = None
        self.batch: Batch | None = heir_of.batch if heir_of else None
        self.queue: SimpleQueue[Batch | None] = heir_of.queue if heir_of else SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        while True:
            if self.batch is None:
                self.batch = self.queue.get()
            if self.batch is None or not self._finish(self.batch):
                return
            self.batch = None

    def _finish(self, batch: Batch) -> bool:
        calls, done = batch
        while calls:
            self.current = calls.pop(0)
            self.since = time.monotonic()
            self.current()
            with self.lock:
                self.since = 0.0
                if self.abandoned:
                    return False
        done()
        return True


def run_all(lane: Lane, calls: Sequence[Call], deadline: float) -> list[Call]:
    """Make the calls, each within the deadline, and return those that were left hanging.

    When one has hung, the others get a tenth of its time: what took one server took more mounts.
    """
    finished = threading.Event()
    hung: list[Call] = []
    lane.submit(calls, finished.set)
    while not finished.wait(max(deadline - lane.stuck_for(), 0.001)):
        late = lane.skip(deadline)
        if late is not None:
            hung.append(late)
            deadline = min(deadline, max(deadline / 10, MIN_DEADLINE))
    return hung
