"""The log: one line an event, as text or JSON; nobody writes a line of it by sending one; no secrets."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.common.logs import FIELDS, MARK, JsonFormatter, RepeatFilter, TextFormatter, plain_text

FORMATTERS = {"text": TextFormatter(), "json": JsonFormatter()}


def record(message: str, *values: Any, **rest: Any) -> logging.LogRecord:
    made = logging.LogRecord("vigie.test", logging.WARNING, "file.py", 1, message, values, None)
    made.__dict__.update(rest)
    return made


@given(st.text())
def test_whatever_a_message_holds_it_stays_on_its_line(text: str) -> None:
    for formatter in FORMATTERS.values():
        line = formatter.format(record("someone said %s", text))
        assert len(line.splitlines()) == 1
        line.encode()  # so that any terminal and file can take it


@given(st.text())
def test_plain_text_shows_what_it_holds(text: str) -> None:
    shown = plain_text(text)
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in shown)
    if text.isprintable():
        assert shown == text


def test_json_tells_fields_one_by_one() -> None:
    told = json.loads(FORMATTERS["json"].format(record("a %s", "b", **{FIELDS: {"status": 200}})))
    assert (told["level"], told["logger"], told["message"], told["status"]) == (
        "warning",
        "vigie.test",
        "a b",
        200,
    )
    assert "T" in told["time"]


@pytest.mark.parametrize("form", FORMATTERS)
def test_traceback_cannot_be_taken_for_other_lines(form: str) -> None:
    try:
        raise ValueError("bad\n2026-01-01 00:00:00,000 INFO admin signed in from 10.0.0.1")
    except ValueError:
        said = FORMATTERS[form].format(record("while working", exc_info=sys.exc_info()))
    first, *more = said.splitlines()
    assert "while working" in first
    assert all(line.startswith(MARK) for line in more)
    assert ("admin signed in" in json.loads(said)["traceback"]) if form == "json" else len(more) >= 3


@pytest.mark.parametrize(
    "secret",
    [
        "http://ada:pa55word-pa55@head:8000/",
        "Authorization: Bearer pa55word-pa55word",
        "basic cGE1NXdvcmQtcGE1NXdvcmQ=",
        "GET /login?once=pa55word",
        "/x?a=b&token=pa55word",
    ],
)
@pytest.mark.parametrize("form", FORMATTERS)
def test_secrets_are_not_logged(form: str, secret: str) -> None:
    said = FORMATTERS[form].format(record("it was %s", secret))
    assert "pa55word" not in said
    assert "cGE1" not in said
    assert "***" in said


def test_words_about_tokens_are_no_secrets() -> None:
    text = "Authorization: Bearer with the token in /var/lib/vigie/server-token"
    assert FORMATTERS["text"].format(record(text)).endswith(text)


def test_warning_that_strangers_can_cause_is_said_once_a_minute_and_an_error_always() -> None:
    now = 0.0
    seldom = RepeatFilter(60.0, lambda: now)
    assert [seldom.filter(record("junk from %s", n)) for n in range(3)] == [True, False, False]
    assert seldom.filter(record("something else"))
    now = 60.0
    assert seldom.filter(record("junk from %s", 4))
    assert all(seldom.filter(record("a fault", levelno=logging.ERROR)) for _ in range(3))
