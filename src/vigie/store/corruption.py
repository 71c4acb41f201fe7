"""Records damage that was found while a store was opened or read, each once."""

from __future__ import annotations

import logging
from collections.abc import Iterator

log = logging.getLogger(__name__)

MOST = 1000  # bounds memory on a failing disk


class CorruptionLog:
    """A bounded list; thread-safe."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._said))

    def add(self, damage: str) -> None:
        """Log and record a report, unless it is known or there are too many."""
        if damage not in self._said and len(self._said) < MOST:
            self._said[damage] = None
            log.warning("the store is damaged: %s", damage)
