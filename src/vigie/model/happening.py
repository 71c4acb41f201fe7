"""What a source says about an event: that it happened, or that a state has begun or ended."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from vigie.model.event import Event


class Phase(Enum):
    """Whether an event is over at once, or lasts."""

    ONCE = "once"
    BEGINS = "begins"
    ENDS = "ends"


class Happening(NamedTuple):
    """An event with its phase; a state is known by its kind and where, so its end needs no `what`."""

    event: Event
    phase: Phase = Phase.ONCE

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return what two words about the same state have in common."""
        return self.event.kind, tuple(sorted(self.event.where.items()))
