"""Something that happened, with a begin and, where it fits, an end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Event(NamedTuple):
    """A fact with a time: a lost link, an XID, a full buffer. Never a gauge."""

    kind: str
    begin_ms: int
    what: str
    where: Mapping[str, str] = {}
    end_ms: int | None = None
    severity: str = "info"
