"""A thread that runs calls in sequence. If one hangs, its thread is abandoned and the rest continue."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Callable

Call = Callable[[], None]
Batch = tuple[list[Call], Callable[[], object]]


class Lane:
    """Runs calls in sequence on another thread, each within the deadline."""

    _swap_lock = threading.Lock()  # held while a lane selects its worker

    def __init__(self, name: str, deadline: float) -> None:
        self.deadline = deadline
        self._name = name
        self._worker: _Worker | None = None

    def submit(self, calls: Sequence[Call], done: Callable[[], object]) -> None:
        """Run the calls in sequence, then `done`, on the lane's thread."""
        with self._swap_lock:
            self._put((list(calls), done))

    def hand_over(self, other: Lane, calls: Sequence[Call], done: Callable[[], object]) -> None:
        """Submit to another lane from `done` of this one. If both are idle, they swap threads.

        The thread that ran our calls then runs those too, and no other has to be woken.
        """
        with self._swap_lock:
            mine, idle = self._worker, other._worker
            if mine and mine.batches == 1 and not (idle and idle.batches):
                self._worker, other._worker = idle, mine
            other._put((list(calls), done))

    def _put(self, batch: Batch) -> None:
        if self._worker is None:
            self._worker = _Worker(self._name)
        self._worker.batches += 1
        self._worker.queue.put(batch)

    def time_left(self) -> float:
        """Return the seconds until the current call exceeds the deadline."""
        since = self._worker.since if self._worker else 0.0
        used = time.monotonic() - since if since else 0.0
        return max(self.deadline - used, 0.001)

    def skip(self) -> Call | None:
        """Abandon a call that exceeded the deadline, and continue with the others on a new thread."""
        with self._swap_lock:
            worker = self._worker
            if worker is None:
                return None
            with worker.lock:
                if not worker.since or time.monotonic() - worker.since <= self.deadline:
                    return None
                worker.abandoned = True
            self._worker = _Worker(self._name, worker)
            return worker.current

    def close(self) -> None:
        """End the thread after the queued calls."""
        if self._worker:
            self._worker.queue.put(None)
            self._worker = None


class _Worker:
    """One thread of a lane, and its current batch."""

    def __init__(self, name: str, heir_of: _Worker | None = None) -> None:
        self.lock = threading.Lock()
        self.abandoned = False
        self.since = 0.0
        self.current: Call | None = None
        self.batch: Batch | None = heir_of.batch if heir_of else None
        self.batches: int = heir_of.batches if heir_of else 0  # not finished
        self.queue: SimpleQueue[Batch | None] = heir_of.queue if heir_of else SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        while True:
            if self.batch is None:
                self.batch = self.queue.get()
            if self.batch is None or not self._finish(self.batch):
                return
            self.batch = None
            with Lane._swap_lock:
                self.batches -= 1

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


def run_all(lane: Lane, calls: Sequence[Call], then: float | None = None) -> list[Call]:
    """Run the calls, each within the lane's deadline, and return those that hang.

    `then` is the deadline of the others once one hangs.
    """
    finished = threading.Lock()  # cheaper than threading.Event
    finished.acquire()
    hung: list[Call] = []
    lane.submit(calls, finished.release)
    while not finished.acquire(timeout=lane.time_left()):
        late = lane.skip()
        if late is not None:
            hung.append(late)
            lane.deadline = then or lane.deadline
    return hung
