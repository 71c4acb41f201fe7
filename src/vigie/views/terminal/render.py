"""A whole screen: from what is known and chosen, and a size, to exactly so many lines."""

from __future__ import annotations

from typing import NamedTuple

from vigie.views.terminal import selection
from vigie.views.terminal.help import HELP
from vigie.views.terminal.measures import MEASURES
from vigie.views.terminal.page import PageRow, TerminalPage
from vigie.views.terminal.routes import KINDS
from vigie.views.terminal.state import UiState
from vigie.views.terminal.styled_text import Line, TextSpan, clip, highlight, line, spread
from vigie.views.text.style import BOLD, CRITICAL, DIM, WARNING
from vigie.views.text.text_width import wrap
from vigie.views.text.times import clock
from vigie.wire.api.pages import Page

HINTS = "arrows choose  Enter open  Esc back  m measure  / filter  ? help  q quit"
NOTES = ((40, 4), (20, 3), (0, 1))  # from so many rows on a note may take so many lines
MARGIN = 4  # rows that the title, the note and the keys take


class ScreenState(NamedTuple):
    """The last answer about a page, and why there is none newer."""

    answer: Page | None = None
    problem: str = ""
    lost_ms: float = 0.0  # since when


def build_page(state: UiState, current: ScreenState, columns: int, rows: int) -> TerminalPage:
    """Return the page that is open, for a size."""
    kind = KINDS[state.here.route.kind]
    if current.answer is None:
        return TerminalPage("", (), () if current.problem else (PageRow(line("asking the server ...")),))
    page = kind.build(current.answer, MEASURES[state.measure], state.matches, max(1, columns))
    return page._replace(rows=_insert_blank_rows(page, rows))


def render_screen(
    state: UiState, current: ScreenState, page: TerminalPage, columns: int, rows: int
) -> list[Line]:
    top, bottom = _opening(state, current, page, columns), _closing(state, current, page, columns, rows)
    top = top[: max(1, rows - len(bottom) - 1)]
    bottom = bottom[max(0, len(top) + len(bottom) - rows + (rows > 2)) :]
    height = rows - len(top) - len(bottom)
    body = [line(text) for text in HELP] if state.helping else _body(state, page)
    first = 0 if state.helping else _first(state, page, len(body), height)
    visible = body[first : first + height]
    visible += [()] * (height - len(visible))
    return [clip(spans, columns) for spans in (*top, *visible, *bottom)][:rows]


def body_height(state: UiState, current: ScreenState, page: TerminalPage, columns: int, rows: int) -> int:
    """Return how many rows of the body a screen shows."""
    top, bottom = _opening(state, current, page, columns), _closing(state, current, page, columns, rows)
    return max(1, rows - len(top) - len(bottom))


def render_all(state: UiState, current: ScreenState, page: TerminalPage, columns: int) -> list[Line]:
    """Return the page as long as it is, with nothing chosen."""
    rows = [row.line for row in page.rows]
    return [clip(spans, columns) for spans in (*_opening(state, current, page, columns), *rows)]


def _insert_blank_rows(page: TerminalPage, rows: int) -> tuple[PageRow, ...]:
    """Return the rows with a blank one before each section, where everything still fits."""
    titles = sum(row.title for row in page.rows)
    if len(page.rows) + titles + len(page.opening) + MARGIN > rows:
        return page.rows
    return tuple(each for row in page.rows for each in ((PageRow(()), row) if row.title else (row,)))


def _opening(state: UiState, current: ScreenState, page: TerminalPage, columns: int) -> list[Line]:
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
    if current.problem:
        right = TextSpan(f"{when} lost", CRITICAL)
    elif state.here.route.at:
        right = TextSpan(f"{when}, not now (t: now)", WARNING)
    else:
        right = TextSpan(when, DIM)
    return [spread(left, (right,), columns), *page.opening]


def _closing(state: UiState, current: ScreenState, page: TerminalPage, columns: int, rows: int) -> list[Line]:
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
    if current.problem:
        last = line(
            TextSpan(f"no answer since {clock(current.lost_ms, '%H:%M:%S')}: {current.problem}", CRITICAL)
        )
    elif state.remark:
        last = line(TextSpan(state.remark, WARNING))
    room = next(room for least, room in NOTES if rows >= least)
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
