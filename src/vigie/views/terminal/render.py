"""A whole screen: from what is known and chosen, and a size, to exactly so many lines."""

from __future__ import annotations

from typing import NamedTuple

from vigie.views.terminal import selection
from vigie.views.terminal.help import HELP
from vigie.views.terminal.json_object import JsonObject
from vigie.views.terminal.measures import MEASURES
from vigie.views.terminal.page import PageRow, TerminalPage
from vigie.views.terminal.routes import KINDS
from vigie.views.terminal.state import UiState
from vigie.views.terminal.styled_text import Line, TextSpan, clip, highlight, line, spread
from vigie.views.text.style import BOLD, CRITICAL, DIM, WARNING
from vigie.views.text.text_width import wrap
from vigie.views.text.times import clock

HINTS = "arrows choose  Enter open  Esc back  m measure  / filter  ? help  q quit"
NOTES = ((40, 4), (20, 3), (0, 1))  # from so many rows on a note may take so many lines
MARGIN = 4  # rows that the title, the note and the keys take


class ScreenState(NamedTuple):
    """What the server last said of a page, and why there is nothing newer."""

    answer: object = None
    problem: str = ""
    lost_ms: float = 0.0  # since when


def page_of(state: UiState, seen: ScreenState, columns: int, rows: int) -> TerminalPage:
    """Return the page that is open, made for a size."""
    route = state.here.route
    if seen.answer is None:
        return TerminalPage("", (), () if seen.problem else (PageRow(line("asking the server ...")),))
    made = KINDS[route.kind].page(
        JsonObject(seen.answer), MEASURES[state.measure], state.matches, max(1, columns)
    )
    return made._replace(rows=_insert_blank_rows(made, rows))


def frame(state: UiState, seen: ScreenState, page: TerminalPage, columns: int, rows: int) -> list[Line]:
    top, bottom = _opening(state, seen, page, columns), _closing(state, seen, page, columns, rows)
    top = top[: max(1, rows - len(bottom) - 1)]
    bottom = bottom[max(0, len(top) + len(bottom) - rows + (rows > 2)) :]
    height = rows - len(top) - len(bottom)
    body = [line(text) for text in HELP] if state.helping else _body(state, page)
    first = 0 if state.helping else _first(state, page, len(body), height)
    shown = body[first : first + height]
    shown += [()] * (height - len(shown))
    return [clip(found, columns) for found in (*top, *shown, *bottom)][:rows]


def body_height(state: UiState, seen: ScreenState, page: TerminalPage, columns: int, rows: int) -> int:
    """Return how many rows of the body a screen shows."""
    top, bottom = _opening(state, seen, page, columns), _closing(state, seen, page, columns, rows)
    return max(1, rows - len(top) - len(bottom))


def everything(state: UiState, seen: ScreenState, page: TerminalPage, columns: int) -> list[Line]:
    """Return the page as long as it is, with nothing chosen."""
    rows = [found.line for found in page.rows]
    return [clip(found, columns) for found in (*_opening(state, seen, page, columns), *rows)]


def _insert_blank_rows(page: TerminalPage, rows: int) -> tuple[PageRow, ...]:
    """Return the rows with a blank one before each section, where everything still fits."""
    titles = sum(row.title for row in page.rows)
    if len(page.rows) + titles + len(page.opening) + MARGIN > rows:
        return page.rows
    return tuple(found for row in page.rows for found in ((PageRow(()), row) if row.title else (row,)))


def _opening(state: UiState, seen: ScreenState, page: TerminalPage, columns: int) -> list[Line]:
    about = page.about or ("simulated" if page.simulated else "")
    left = line(
        TextSpan("vigie", BOLD), f"  {state.here.route.title}", TextSpan(f"  {about}" if about else "", DIM)
    )
    if state.here.words:
        left = (*left, TextSpan(f"  /{state.here.words}", WARNING))
    when = (
        ""
        if page.at_ms is None
        else clock(page.at_ms, "%H:%M:%S" if not state.here.route.at else "%m-%d %H:%M:%S")
    )
    if seen.problem:
        right = TextSpan(f"{when} lost", CRITICAL)
    elif state.here.route.at:
        right = TextSpan(f"{when}, not now (t: now)", WARNING)
    else:
        right = TextSpan(when, DIM)
    return [spread(left, (right,), columns), *page.opening]


def _closing(state: UiState, seen: ScreenState, page: TerminalPage, columns: int, rows: int) -> list[Line]:
    if state.typing:
        return [
            line(
                TextSpan("/", BOLD),
                state.here.words,
                TextSpan(" ", "", True),
                TextSpan("  Enter keep  Esc clear", DIM),
            )
        ]
    spot = selection.find_selection(page, state.here.chosen, state.here.row)
    note = wrap(spot.note if spot else "", max(1, columns - 2))
    last = line(TextSpan(HINTS, DIM))
    if seen.problem:
        last = line(TextSpan(f"no answer since {clock(seen.lost_ms, '%H:%M:%S')}: {seen.problem}", CRITICAL))
    elif state.remark:
        last = line(TextSpan(state.remark, WARNING))
    room = next(most for least, most in NOTES if rows >= least)
    notes = [line(text) for text in note[:room]]
    if len(note) > room:
        notes[-1] = (*notes[-1], TextSpan(" …"))
    return [*notes, *[()] * (room - len(notes)), last]  # always as many, so that nothing jumps


def _body(state: UiState, page: TerminalPage) -> list[Line]:
    if not page.rows:
        return []
    number, index = selection.place(page, state.here.chosen, state.here.row)
    lines = [row.line for row in page.rows]
    if spots := page.rows[number].spots:
        lines[number] = highlight(lines[number], spots[index].start, spots[index].end)
    return lines


def _first(state: UiState, page: TerminalPage, count: int, height: int) -> int:
    """Return the first row to show, so that the chosen one stands in the middle where it can."""
    number, _ = selection.place(page, state.here.chosen, state.here.row)
    return max(0, min(number - height // 2, count - height))
