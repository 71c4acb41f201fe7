"""Records damage that was found while a store was opened or read, each once."""

from __future__ import annotations

import logging
from collections.abc import Iterator

log = logging.getLogger(__name__)

MAX_REPORTS = 1000  # bounds memory on a failing disk


class CorruptionLog:
    """A bounded list; thread-safe."""

    def __init__(self) -> None:
        self._reports: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._reports))

    def add(self, report: str) -> None:
        """Log and record a report, unless it is known or there are too many."""
        if report not in self._reports and len(self._reports) < MAX_REPORTS:
            self._reports[report] = None
            log.warning("the store is damaged: %s", report)
