"""Lets maintenance yield to queries, and stop when the store is about to close."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds per round, so that maintenance makes progress under continuous queries


class MaintenanceThrottle:
    """Two computing threads would contend for the interpreter's lock, and slow each other down."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = self._left = patience
        self._changed = threading.Condition()
        self._asking = 0
        self._is_over = False

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Let maintenance yield while a query runs."""
        with self._changed:
            self._asking += 1
        try:
            yield
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()

    def begin(self) -> None:
        """Start a round of maintenance, with a new time budget."""
        self._left = self._patience

    def give_way(self) -> None:
        """Wait until no query runs, within the time budget of the round."""
        with self._changed:
            begun = time.monotonic()
            self._changed.wait_for(lambda: self._is_over or not self._asking, self._left)
            self._left = max(0.0, self._left - (time.monotonic() - begun))

    def goes_on(self) -> bool:
        """Yield to queries, then report whether the next piece of work may start."""
        self.give_way()
        return not self._is_over

    def end(self) -> None:
        """Let work in progress end soon, and start no more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
