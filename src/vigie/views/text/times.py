"""Times as people tell them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def since(begin_ms: float) -> str:
    """Return how long ago something began."""
    return format_duration(time.time() * 1000 - begin_ms)


def format_duration(milliseconds: float) -> str:
    """Return a length of time in its largest unit and the one below, such as 1d4h."""
    left = max(0, round(milliseconds / 1000))
    first = next((n for n, (_, length) in enumerate(UNITS) if left >= length), len(UNITS) - 1)
    words = ""
    for unit, length in UNITS[first : first + 2]:
        count, left = divmod(left, length)
        words += f"{count}{unit}" if count or not words else ""
    return words


def clock(at_ms: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a moment by the clock of whoever reads it."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime(form)
    except (ValueError, OverflowError, OSError):
        return "?"
