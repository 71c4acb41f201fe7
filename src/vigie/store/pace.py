"""How upkeep goes on: a moment later while somebody asks, and no more when the store is about to close."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 0.02  # seconds before a piece of work: rows go on coming while questions follow one another


class Pace:
    """Two threads that compute take the interpreter's lock from each other at every call, and both crawl."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._guard = threading.Lock()
        self._asking = 0
        self._nobody_asks = threading.Event()
        self._nobody_asks.set()
        self._over = threading.Event()

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Let upkeep give way for as long as a question is answered."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def give_way(self) -> None:
        """Wait until nobody asks, but for a moment only."""
        self._nobody_asks.wait(self._patience)

    def goes_on(self) -> bool:
        """Tell whether the next piece of work may be begun, after a moment for those who ask."""
        self.give_way()
        return not self._over.is_set()

    def end(self) -> None:
        """Let what is under way end soon, and nothing more be begun."""
        self._over.set()

    def _count(self, by: int) -> None:
        with self._guard:
            self._asking += by
            if self._asking:
                self._nobody_asks.clear()
            else:
                self._nobody_asks.set()
