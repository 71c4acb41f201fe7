"""A page: its opening lines, and rows of which parts can be chosen and opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from vigie.views.terminal.styled_text import Line, TextSpan, line
from vigie.views.text.style import BOLD, DIM, tone
from vigie.views.text.table_layout import GAP, TableColumn, layout
from vigie.views.text.text_width import pad


class Spot(NamedTuple):
    """A part of a row that can be chosen: where it stands, what opens, and what is said of it."""

    start: int
    end: int
    key: str
    route: str = ""
    note: str = ""


class PageRow(NamedTuple):
    """A line of the body."""

    line: Line
    spots: tuple[Spot, ...] = ()
    title: bool = False


class TerminalPage(NamedTuple):
    """What a view shows at a width; about says more of what it is of."""

    about: str
    opening: tuple[Line, ...]
    rows: tuple[PageRow, ...]
    at_ms: int | None = None
    simulated: bool = False


class PageEntry(NamedTuple):
    """A row of a table: its cells, the styles of some of them, and what opens."""

    cells: Sequence[str]
    key: str
    route: str = ""
    note: str = ""
    style: str = ""  # of its first cell, which marks trouble


def build_link(kind: str, *names: str) -> str:
    """Return the address of a page, as the web UI has it."""
    return "/".join((kind, *(quote(name, safe="") for name in names)))


def section_row(title: str, hint: str = "") -> PageRow:
    spans = [TextSpan(title, BOLD)]
    return PageRow(line(*spans, TextSpan(f"  {hint}" if hint else "", DIM)), title=True)


def text_row(spans: Line, key: str, max_width: int) -> PageRow:
    """Return a row of words; it leads nowhere, and can be chosen so that one can scroll to it."""
    return PageRow((TextSpan(" " * GAP), *spans), (Spot(0, max_width, key),))


def table(
    columns: Sequence[TableColumn], entries: Sequence[PageEntry], max_width: int, head: bool = True
) -> list[PageRow]:
    """Return the rows of a table; columns for which there is no room are left out."""
    if not entries:
        return []
    places = layout(columns, [entry.cells for entry in entries], max(1, max_width - GAP))[0]
    rows = []
    if head:
        heads = [
            pad(columns[place.column].head, place.width, columns[place.column].right) for place in places
        ]
        rows.append(PageRow(line("  ", TextSpan((" " * GAP).join(heads), DIM))))
    for entry in entries:
        spans = [TextSpan(" " * GAP)]
        for number, place in enumerate(places):
            column, cell = columns[place.column], entry.cells[place.column]
            style = tone(cell) if column.tells else entry.style if place.column == 0 else ""
            gap = " " * GAP if number else ""
            spans += [TextSpan(gap), TextSpan(pad(cell, place.width, column.right), style)]
        rows.append(PageRow(tuple(spans), (Spot(0, max_width, entry.key, entry.route, entry.note),)))
    return rows
