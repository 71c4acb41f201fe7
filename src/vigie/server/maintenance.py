"""Keeps the store in order beside the server's work, and the garbage collector away from what stays.

A collector's walk through the series of a thousand nodes takes a second.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from vigie.server.cluster.bindings import KEEP_DAYS as BINDINGS_DAYS
from vigie.server.cluster.events import KEEP_DAYS as EVENTS_DAYS
from vigie.store.errors import StoreError
from vigie.store.retention import Retention
from vigie.store.rollups.rollups import TIERS
from vigie.store.rollups.tier import TierConfig
from vigie.store.store import Store

YOUNG = 20_000  # objects before it looks, not 700: that was a fifth of the event loop's time after many joins
GROWN = 1.1  # by so much what is allocated must have grown before it is told again
UPKEEP_AFTER_START = 30.0  # who waited for the server asks at once, and everything is cold
UPKEEP_SECONDS = 10.0
log = logging.getLogger(__name__)


class RetentionConfig(NamedTuple):
    """How long the server keeps what it stores."""

    raw: Retention = Retention()
    rollups: tuple[TierConfig, ...] = TIERS
    events_days: float = EVENTS_DAYS
    bindings_days: float = BINDINGS_DAYS
    traces_days: float = 30.0
    traces_gigabytes: float = 20.0


def open_store(directory: Path, retention: RetentionConfig) -> Store:
    """Return the store; a collection meanwhile, or through its catalogue later, would find nothing."""
    gc.disable()
    try:
        store = Store(directory, retention=retention.raw, tiers=retention.rollups)
        gc.freeze()
    finally:
        gc.enable()
    return store


class GcFreezer:
    """Has the collector pass over what is there, now and again whenever much has come.

    Garbage that is there at that moment is never collected, so it is not done at each turn.
    """

    def __init__(self) -> None:
        self._told = 0
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])

    def look(self) -> None:
        """Tell the collector if it is time."""
        now = sys.getallocatedblocks()
        if now > GROWN * self._told:
            self._told = now
            gc.collect(1)
            gc.freeze()


class MaintenanceThread:
    """Calls the store's upkeep every ten seconds, in a thread of its own, and not at once after a start."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self.trouble = ""  # why the last turn failed
        self._store, self._clock = store, clock
        self._lasting = GcFreezer()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End soon, also within a turn that is under way."""
        self._stop.set()
        self._store.stop_maintenance()
        self._thread.join()

    def _run(self) -> None:
        pause = UPKEEP_AFTER_START
        while not self._stop.wait(pause):
            pause = UPKEEP_SECONDS
            try:
                self._lasting.look()
                self._store.maintain(self._clock())
                self.trouble = ""
            except Exception as error:  # the next turn may succeed, and without any the log grows
                trouble = f"upkeep of the store: {error}"
                if trouble != self.trouble:  # once a change, not every ten seconds
                    self.trouble = trouble
                    unknown = None if isinstance(error, StoreError | OSError) else error
                    log.error("%s", trouble, exc_info=unknown)
