"""Tables: aligned, cut in their least important columns, and over several lines where it is narrow."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.views.text import output
from vigie.views.text.table import table
from vigie.views.text.table_layout import TableColumn, layout
from vigie.views.text.text_width import width
from vigie.views.text.units import format_quantity

COLUMNS = (
    TableColumn("node"),
    TableColumn("state", tells=True),
    TableColumn("name", least=6, rank=1),
    TableColumn("why", least=8, rank=2),
)
ROWS = [["n1", "up", "segmentation", "-"], ["node-two", "lost", "x", "nothing was heard of it"]]

SHAPES = st.integers(1, 6).flatmap(
    lambda count: st.tuples(
        st.lists(
            st.builds(
                TableColumn,
                st.text("abc日", max_size=8),
                st.integers(0, 12),
                st.integers(0, 3),
                st.booleans(),
            ),
            min_size=count,
            max_size=count,
        ),
        st.lists(st.lists(st.text(max_size=20), min_size=count, max_size=count), max_size=5),
    )
)


def test_without_a_width_everything_is_shown_aligned() -> None:
    assert list(table(COLUMNS, ROWS)) == [
        "node      state  name          why",
        "n1        up     segmentation  -",
        "node-two  lost   x             nothing was heard of it",
    ]


def test_the_least_important_column_is_cut_first() -> None:
    assert list(table(COLUMNS, ROWS, 46)) == [
        "node      state  name          why",
        "n1        up     segmentation  -",
        "node-two  lost   x             nothing was he…",
    ]
    assert list(table(COLUMNS, ROWS, 34)) == [
        "node      state  name     why",
        "n1        up     segmen…  -",
        "node-two  lost   x        nothing…",
    ]


def test_what_does_not_fit_stands_on_a_second_line() -> None:
    assert list(table(COLUMNS, ROWS, 25)) == [
        "node      state  name",
        "  why",
        "n1        up     segment…",
        "  -",
        "node-two  lost   x",
        "  nothing was heard of it",
    ]


@given(SHAPES, st.integers(1, 100))
def test_no_line_is_wider_than_asked_and_every_column_is_shown_once(
    shape: tuple[list[TableColumn], list[list[str]]], most: int
) -> None:
    columns, rows = shape
    assert all(width(line) <= most for line in table(columns, rows, most))
    shown = [place.column for line in layout(columns, rows, most) for place in line]
    assert sorted(shown) == list(range(len(columns)))


def test_only_trouble_has_a_colour() -> None:
    up, lost = list(table(COLUMNS, ROWS, colour=True))[1:]
    assert "\x1b" not in up
    assert "\x1b[1;31mlost \x1b[0m" in lost


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert output.colourful(Terminal())
    assert not output.colourful(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not output.colourful(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not output.colourful(Terminal())


def test_files_have_no_width_unless_columns_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert output.columns(io.StringIO()) is None
    assert output.columns(Terminal()) is not None
    monkeypatch.setenv("COLUMNS", "66")
    assert output.columns(io.StringIO()) == 66


def test_what_an_encoding_cannot_say_is_a_question_mark() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "latin-1")
    output.show(["café ▁█"], stream)
    assert raw.getvalue() == "café ??\n".encode("latin-1")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.314, "ratio", "31%"),
        (99.6, "percent", "100%"),
        (61_234.0, "watts", "61.2 kW"),
        (80 * 2**30, "bytes", "80.0 GiB"),
        (25e9, "bits/s", "25.0 Gb/s"),
        (1.98e9, "hertz", "2.0 GHz"),
        (90_000, "seconds", "1d1h"),
        (0.02, "seconds", "20 ms"),
        (66, "celsius", "66 °C"),
        (1, "bool", "yes"),
        (118, "count", "118"),
        (2.5, "", "2.5"),
        (float("inf"), "count", "inf"),
    ],
)
def test_number_is_told_with_its_unit(value: float, unit: str, text: str) -> None:
    assert format_quantity(value, unit) == text
