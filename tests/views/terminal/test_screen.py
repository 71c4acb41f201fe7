"""What is written: a terminal that gets only the changes shows the same as one that gets everything."""

from __future__ import annotations

import pyte
from hypothesis import given, settings
from hypothesis import strategies as st

from vigie.views.terminal.screen import changes, write_rows
from vigie.views.terminal.styled_text import Line, TerminalStyle, TextSpan, clip, highlight, plain
from vigie.views.text.style import COLOURS

ROWS = 4
SPANS = st.builds(TextSpan, st.text("ab 日█…", max_size=12), st.sampled_from(["", *sorted(COLOURS)]))
LINES = st.lists(SPANS, max_size=4).map(tuple)
FRAMES = st.lists(st.lists(LINES, min_size=ROWS, max_size=ROWS), min_size=1, max_size=4)


def shows(screen: pyte.Screen) -> list[str]:
    return [line.rstrip() for line in screen.display]


@settings(deadline=None)
@given(FRAMES, st.integers(1, 30), st.booleans())
def test_changes_alone_give_the_same_picture(
    frames: list[list[Line]], columns: int, ascii_only: bool
) -> None:
    screen = pyte.Screen(columns, ROWS)
    screen.reset_mode(7, private=True)  # no wrapping, as vigie top asks for
    stream = pyte.Stream(screen)
    look = TerminalStyle(ascii=ascii_only)
    before: list[str] = []
    for frame in frames:
        lines = [clip(line, columns) for line in frame]
        wanted = write_rows(lines, columns, look)
        stream.feed(changes(before, wanted))
        before = wanted
        assert shows(screen) == [plain(line, look) for line in lines]


def test_what_did_not_change_is_not_written() -> None:
    before = write_rows([(TextSpan("one"),), (TextSpan("two"),)], 10, TerminalStyle())
    wanted = write_rows([(TextSpan("one"),), (TextSpan("2"),)], 10, TerminalStyle())
    assert changes(before, wanted) == "\x1b[2;1H2\x1b[K"
    assert changes(before, before) == ""


@given(LINES, st.integers(0, 20), st.integers(0, 20))
def test_choosing_marks_and_changes_no_words(line: Line, start: int, size: int) -> None:
    marked = highlight(line, start, start + size)
    assert plain(marked, TerminalStyle()) == plain(line, TerminalStyle())
