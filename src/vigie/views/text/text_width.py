"""How wide text stands in a terminal, and text made to fit; what would move the cursor is made harmless."""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"
HARMFUL = ("Cc", "Cf", "Cs", "Zl", "Zp")  # names come from the cluster: none may steer the reader's terminal
WITHOUT_WIDTH = ("Mn", "Me")


def clean(text: str) -> str:
    """Return the text with a question mark for each character that is no visible one."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("?" if unicodedata.category(char) in HARMFUL else char for char in text)


def width(text: str) -> int:
    """Return how many columns clean text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, max_width: int, mark: str = ELLIPSIS) -> str:
    """Return the text in at most so many columns, with a mark where the rest was."""
    if width(text) <= max_width:
        return text
    room = max_width - width(mark)
    return _head(text, room) + mark if room >= 0 else _head(text, max_width)


def pad(text: str, columns: int, right: bool = False) -> str:
    """Return the text in exactly so many columns."""
    text = cut(text, columns)
    blank = " " * (columns - width(text))
    return blank + text if right else text + blank


def wrap(text: str, max_width: int, indent: str = "") -> list[str]:
    """Return the text in lines of at most so many columns, the further ones indented."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if not line or width(longer) <= max_width:
            line = longer
        else:
            lines.append(line)
            line = indent + word
    return [cut(line, max_width) for line in (*lines, line)]


def _head(text: str, max_width: int) -> str:
    taken = 0
    for index, char in enumerate(text):
        taken += _columns(char)
        if taken > max_width:
            return text[:index]
    return text


def _columns(char: str) -> int:
    if unicodedata.category(char) in WITHOUT_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
