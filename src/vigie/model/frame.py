"""The values of some tables at one time."""

from __future__ import annotations

from typing import NamedTuple

from vigie.model.table import Table


class Frame(NamedTuple):
    """Everything that was due at one tick shares this one timestamp."""

    time_ms: int
    parts: tuple[tuple[Table, tuple[float, ...]], ...]
