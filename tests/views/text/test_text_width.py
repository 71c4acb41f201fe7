"""Text in a terminal: how wide it stands, how it is cut, and that it steers nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.views.text.text_width import clean, cut, pad, width, wrap

TEXT = st.text(max_size=40).map(clean)


@pytest.mark.parametrize(
    ("text", "columns"), [("plain", 5), ("日本", 4), ("e\u0301", 1), ("", 0), ("▁█", 2), ("🦉", 2)]
)
def test_wide_characters_count_double_and_accents_nothing(text: str, columns: int) -> None:
    assert width(text) == columns


def test_what_is_cut_ends_in_an_ellipsis() -> None:
    assert cut("segment-xl", 7) == "segmen…"
    assert cut("日本語", 4) == "日…"
    assert cut("fits", 4) == "fits"
    assert cut("no room", 0) == ""


@given(TEXT, st.integers(0, 50))
def test_cut_text_is_never_wider_and_padded_text_exactly_as_wide(text: str, most: int) -> None:
    assert width(cut(text, most)) <= most
    assert width(pad(text, most)) == most


@given(st.text(max_size=40))
def test_no_name_can_steer_the_terminal(text: str) -> None:
    assert not {unicodedata.category(char) for char in clean(text)} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert clean("\x1b[2Jred\u202e") == "?[2Jred?"


@given(st.text("ab  日", max_size=60), st.integers(1, 30))
def test_wrapped_text_keeps_its_words_and_the_width(text: str, most: int) -> None:
    lines = wrap(text, most)
    assert all(width(line) <= most for line in lines)
    if all(width(word) <= most for word in text.split()):
        assert " ".join(lines).split() == text.split()


def test_further_lines_are_indented() -> None:
    assert wrap("one two three", 7, "  ") == ["one two", "  three"]
