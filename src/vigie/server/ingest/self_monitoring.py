"""The server keeps what it says of itself, as it keeps what nodes say."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from vigie.model import Frame
from vigie.server.ingest.link_session import FrameSink
from vigie.server.metrics import ServerMetrics
from vigie.store.errors import StoreError
from vigie.store.store import Store

log = logging.getLogger(__name__)

EVERY_SECONDS = 10.0
JOB = "vigie"


class SelfMonitor:
    """Stores the server's own tables every few seconds, in a thread of its own."""

    def __init__(
        self,
        own: ServerMetrics,
        store: Store,
        clock: Callable[[], int],
        instance: str,
        pass_on: FrameSink | None = None,
    ) -> None:
        self._own, self._store, self._clock, self._pass_on = own, store, clock, pass_on
        self._labels = {"instance": instance, "job": JOB}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="self watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def keep(self) -> None:
        """Store what the server says of itself now."""
        parts = tuple((table, numbers) for table, numbers, _ in self._own.values())
        frame = Frame(self._clock(), parts)
        self._store.append(self._labels, frame)
        if self._pass_on:
            self._pass_on.write_frame(self._labels, frame)

    def _run(self) -> None:
        failing = False
        while True:
            try:
                self.keep()
                failing = False
            except (StoreError, OSError) as error:
                if not failing:  # once a change, not every few seconds
                    log.error("the server cannot keep its own metrics: %s", error)
                failing = True
            if self._stop.wait(EVERY_SECONDS):
                return
