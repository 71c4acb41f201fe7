"""Opens the store of a server, where garbage is not looked for among what lives as long as the server."""

from __future__ import annotations

import gc
from pathlib import Path

from vigie.store.retention import Retention
from vigie.store.store import Store


def opened(directory: Path, retention: Retention) -> Store:
    """Return the store; a collection meanwhile, or through its catalogue later, would find nothing."""
    gc.disable()
    try:
        store = Store(directory, retention=retention)
        gc.freeze()
    finally:
        gc.enable()
    return store
