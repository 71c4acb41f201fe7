"""How upkeep goes on: a little later while somebody asks, and no more when the store is about to close."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds of a round, ten seconds apart: rows go on coming while questions follow one another


class MaintenanceThrottle:
    """Two threads that compute take the interpreter's lock from each other at every call, and both crawl."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = self._left = patience
        self._changed = threading.Condition()
        self._asking = 0
        self._is_over = False

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Let upkeep give way for as long as a question is answered."""
        with self._changed:
            self._asking += 1
        try:
            yield
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()

    def begin(self) -> None:
        """Begin a round of upkeep, with new patience."""
        self._left = self._patience

    def give_way(self) -> None:
        """Wait until nobody asks, for as long as the round has patience left."""
        with self._changed:
            begun = time.monotonic()
            self._changed.wait_for(lambda: self._is_over or not self._asking, self._left)
            self._left = max(0.0, self._left - (time.monotonic() - begun))

    def goes_on(self) -> bool:
        """Tell whether the next piece of work may be begun, after those who ask."""
        self.give_way()
        return not self._is_over

    def end(self) -> None:
        """Let what is under way end soon, and nothing more be begun."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
