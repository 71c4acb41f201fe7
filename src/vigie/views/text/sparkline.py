"""Numbers as bars of eight heights."""

from __future__ import annotations

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """Return a bar for each number; one that is no number is a blank."""
    finite = [value for value in values if abs(value) != float("inf") and value == value]
    if not finite:
        return " " * len(values)
    low, high = min(finite), max(finite)
    return "".join(bar(value, low, high) for value in values)


def bar(value: float, low: float, high: float, bars: str = BARS) -> str:
    """Return the bar of a number between two bounds."""
    if value != value:
        return " "
    if high == low:
        return bars[0]
    height = (min(max(value, low), high) - low) / (high - low)
    return bars[min(int(height * len(bars)), len(bars) - 1)]
