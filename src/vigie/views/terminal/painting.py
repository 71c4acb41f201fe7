"""What to write so that a terminal shows other lines than before."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.views.terminal.lines import Line, Look, encoded, length

CLEAR, REST = "\x1b[2J", "\x1b[K"


def written(lines: Sequence[Line], columns: int, look: Look) -> list[str]:
    """Return what each row is written as."""
    # At the right edge, clearing the rest of the row would clear its last character.
    return [encoded(line, look) + (REST if length(line) < columns else "") for line in lines]


def changes(before: Sequence[str], wanted: Sequence[str]) -> str:
    """Return what to write: the rows that are others than before, or everything if nothing is known."""
    known = len(before) == len(wanted)
    rows = [
        f"\x1b[{number};1H{text}"
        for number, text in enumerate(wanted, start=1)
        if not known or text != before[number - 1]
    ]
    return ("" if known else CLEAR) + "".join(rows)
