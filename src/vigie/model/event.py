"""Something that happened, with a begin and, where it fits, an end."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class Phase(Enum):
    """Whether an event is over at once, or lasts."""

    ONCE = "once"
    BEGINS = "begins"
    ENDS = "ends"


class EventChange(NamedTuple):
    """An event with its phase; a state is known by its kind and where, so its end needs no `what`."""

    event: Event
    phase: Phase = Phase.ONCE

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return what two words about the same state have in common."""
        return self.event.kind, tuple(sorted(self.event.where.items()))


class Event(NamedTuple):
    """A fact with a time: a lost link, an XID, a full buffer. Never a gauge."""

    kind: str
    begin_ms: int
    what: str
    where: Mapping[str, str] = {}
    end_ms: int | None = None
    severity: str = "info"
