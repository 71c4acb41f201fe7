"""Which numbers are times."""

from __future__ import annotations

from vigie.store.errors import Refused

LATEST = 1 << 62


def check_time(time: int) -> None:
    """Refuse what cannot be milliseconds since 1970, with room to compute with it."""
    if not -LATEST < time < LATEST:
        raise Refused(f"{time} is not a time in milliseconds")
