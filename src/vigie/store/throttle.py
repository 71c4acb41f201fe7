"""Lets maintenance yield to queries, and stop when the store is about to close."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

MAX_YIELD_SECONDS = 2.0  # seconds per round, so that maintenance makes progress under continuous queries


class MaintenanceThrottle:
    """Two computing threads would contend for the interpreter's lock, and slow each other down."""

    def __init__(self, max_yield_seconds: float = MAX_YIELD_SECONDS) -> None:
        self._max_yield_seconds = self._left = max_yield_seconds
        self._changed = threading.Condition()
        self._queries = 0
        self._stopped = False

    @contextmanager
    def query_running(self) -> Iterator[None]:
        """Let maintenance yield while a query runs."""
        with self._changed:
            self._queries += 1
        try:
            yield
        finally:
            with self._changed:
                self._queries -= 1
                self._changed.notify_all()

    def start_round(self) -> None:
        """Start a round of maintenance, with a new time budget."""
        self._left = self._max_yield_seconds

    def yield_to_queries(self) -> None:
        """Wait until no query runs, within the time budget of the round."""
        with self._changed:
            started = time.monotonic()
            self._changed.wait_for(lambda: self._stopped or not self._queries, self._left)
            self._left = max(0.0, self._left - (time.monotonic() - started))

    def may_continue(self) -> bool:
        """Yield to queries, then report whether the next piece of work may start."""
        self.yield_to_queries()
        return not self._stopped

    def stop(self) -> None:
        """Let work in progress end soon, and start no more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
