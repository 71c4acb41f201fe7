"""The Events page: every incident, open and resolved."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.header import build_header
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import TerminalPage, text_row
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.terminal.tables import Matches
from vigie.views.text.style import DIM
from vigie.wire.api.pages import IncidentsPage


def build_page(page: IncidentsPage, _: Measure, matches: Matches, max_width: int) -> TerminalPage:
    rows = tables.incident_rows(page, matches, max_width, "What was found")
    if not rows:
        why = "nothing matches" if page.incidents else "nothing was found"
        rows = [text_row((TextSpan(why, DIM),), "nothing", max_width)]
    return TerminalPage("", build_header(page, max_width), tuple(rows), page.at_ms)
