"""Tells the garbage collector what stays: a walk through the series of a thousand nodes takes a second."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from vigie.store.retention import Retention
from vigie.store.store import Store

YOUNG = 20_000  # objects before it looks, not 700: that was a fifth of the event loop's time after many joins
GROWN = 1.1  # by so much what is allocated must have grown before it is told again


def open_store(directory: Path, retention: Retention) -> Store:
    """Return the store; a collection meanwhile, or through its catalogue later, would find nothing."""
    gc.disable()
    try:
        store = Store(directory, retention=retention)
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
