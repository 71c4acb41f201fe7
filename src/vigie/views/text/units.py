"""Numbers with their units, short enough for a table."""

from __future__ import annotations

from vigie.views.text.times import format_duration

BY_1000 = ("", "k", "M", "G", "T", "P")
BY_1024 = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
SCALED = {"bytes": "B", "bytes/s": "B/s", "bits/s": "b/s", "watts": "W", "joules": "J", "hertz": "Hz"}
SMALL = {"celsius": "°C", "rpm": "rpm", "milliseconds": "ms", "ops/s": "/s"}
SHARES = {"ratio": 100.0, "percent": 1.0}


def format_quantity(value: float, unit: str) -> str:
    """Return a number as people say it, such as 61.2 kW."""
    if value != value or abs(value) == float("inf"):
        return str(value)
    if unit in SHARES:
        return f"{value * SHARES[unit]:.0f}%"
    if unit in SCALED:
        return _scale(value, SCALED[unit], 1024 if unit.startswith("bytes") else 1000)
    if unit == "seconds":
        return format_duration(value * 1000) if value >= 1 else f"{value * 1000:.3g} ms"
    if unit == "bool":
        return "yes" if value else "no"
    return f"{_plain(value)} {SMALL[unit]}" if unit in SMALL else _plain(value)


def _plain(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


def _scale(value: float, word: str, base: int) -> str:
    prefixes = BY_1024 if base == 1024 else BY_1000
    step = 0
    while abs(value) >= base and step < len(prefixes) - 1:
        value, step = value / base, step + 1
    number = f"{value:.0f}" if abs(value) >= 100 or not step else f"{value:.1f}"
    return f"{number} {prefixes[step]}{word}"
