"""Values of some tables at one time."""

from __future__ import annotations

from typing import NamedTuple

from vigie.model.table import Table


class Frame(NamedTuple):
    """All tables due at one tick, with one timestamp."""

    time_ms: int
    parts: tuple[tuple[Table, tuple[float, ...]], ...]
