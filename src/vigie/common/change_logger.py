"""Says what is wrong with a destination when that changes, and not at every try."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


class ChangeLogger:
    """The present complaint about one destination; an empty one means that all is well."""

    def __init__(self, name: str) -> None:
        self.text = ""
        self._name = name

    def __call__(self, text: str) -> None:
        """Log the complaint, unless it is the last one again."""
        if text != self.text:
            level = logging.WARNING if text else logging.INFO
            log.log(level, "%s: %s", self._name, text or "well again")
            self.text = text
