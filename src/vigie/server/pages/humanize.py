"""Small words: numbers, spans of time and lists as people say them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def pluralize(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    >>> pluralize(1, "thing"), pluralize(2, "thing"), pluralize(0, "GPU")
    ('1 thing', '2 things', '0 GPUs')
    """
    return f"{count} {one if count == 1 else many or one + 's'}"


def format_duration(milliseconds: int) -> str:
    """Return how long something took, as short as it makes sense.

    >>> format_duration(45_000), format_duration(200 * 60_000), format_duration(3 * 86_400_000)
    ('45 s', '3 h 20 min', '3 days')
    """
    milliseconds = max(milliseconds, 0)
    if milliseconds < MINUTE_MS:
        return f"{milliseconds // 1000} s"
    if milliseconds < HOUR_MS:
        return f"{milliseconds // MINUTE_MS} min"
    if milliseconds < 2 * DAY_MS:
        hours, rest = divmod(milliseconds, HOUR_MS)
        minutes = rest // MINUTE_MS
        return f"{hours} h {minutes} min" if minutes and hours < 10 else f"{hours} h"
    return f"{milliseconds // DAY_MS} days"


def clock(time_ms: int) -> str:
    """Return a moment of the day, in UTC since no reader's zone is known here.

    >>> clock(1_793_534_400_000)
    '12:00 UTC'
    """
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%H:%M UTC")


def join_words(names: Sequence[str], most: int = 3) -> str:
    """Return names in a row, the first few of many.

    >>> join_words(["a"]), join_words(["a", "b"]), join_words(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def format_value(value: float | None, unit: str) -> str:
    """Return a value with its unit, as short as it makes sense.

    >>> format_value(0.364, "ratio"), format_value(1.095e9, "hertz"), format_value(12.4, "seconds")
    ('36%', '1095 MHz', '12 s')
    """
    if value is None:
        return "?"
    if unit == "ratio":
        return f"{value:.0%}"
    if unit == "hertz":
        return f"{value / 1e6:.0f} MHz"
    if unit == "seconds":
        return f"{value:.0f} s"
    return f"{value:.3g}"
