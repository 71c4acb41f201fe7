"""Colours: one neutral scale, and another colour only for trouble."""

from __future__ import annotations

PLAIN, BOLD, DIM, WARNING, CRITICAL = "", "bold", "dim", "warning", "critical"
COLOURS = {BOLD: "1", DIM: "2", WARNING: "33", CRITICAL: "1;31"}
TROUBLE = {
    "critical": CRITICAL,
    "lost": CRITICAL,
    "down": CRITICAL,
    "error": CRITICAL,
    "warning": WARNING,
    "late": WARNING,
    "stale": WARNING,
    "unknown": WARNING,
    "unavailable": DIM,
    "stopped": DIM,
    "removed": DIM,
}


def tone(state: str) -> str:
    """Return the style of a state's word; most are plain."""
    return TROUBLE.get(state, PLAIN)


def paint(text: str, style: str) -> str:
    """Return the text with the codes that give it the style."""
    return f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if style and text else text
