"""Something that happened, with a begin and optionally an end."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class Phase(Enum):
    """Whether an event is a single occurrence, or begins or ends a state."""

    ONCE = "once"
    BEGINS = "begins"
    ENDS = "ends"


class EventChange(NamedTuple):
    """An event and its phase. A state is identified by kind and location, so its end needs no `what`."""

    event: Event
    phase: Phase = Phase.ONCE

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return what identifies a state."""
        return self.event.kind, tuple(sorted(self.event.where.items()))


class Event(NamedTuple):
    """A fact with a time: a lost link, an XID, a full buffer. Never a gauge."""

    kind: str
    begin_ms: int
    what: str
    where: Mapping[str, str] = {}
    end_ms: int | None = None
    severity: str = "info"
