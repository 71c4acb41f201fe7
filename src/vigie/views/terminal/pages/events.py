"""The Events page: everything that was found, open and over."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.header import opening
from vigie.views.terminal.json_object import JsonObject
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import TerminalPage, text_row
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.terminal.tables import Matches
from vigie.views.text.style import DIM


def page(answer: JsonObject, _: Measure, matches: Matches, most: int) -> TerminalPage:
    rows = tables.incidents(answer, matches, most, "What was found")
    if not rows:
        why = "nothing matches" if answer.parts("incidents") else "nothing was found"
        rows = [text_row((TextSpan(why, DIM),), "nothing", most)]
    return TerminalPage("", opening(answer, most), tuple(rows), answer.number("at_ms"))
