"""Times, durations, limits and selectors, as Prometheus reads them."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.query.errors import BadDataError
from vigie.server.http.requests import EARLIEST, LATEST, Parameters, label_name


def given_as(**fields: str) -> Parameters:
    return Parameters(urlencode(fields).encode())


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1700000000", 1_700_000_000_000),
        ("1700000000.123", 1_700_000_000_123),
        ("1.7e9", 1_700_000_000_000),
        ("-1.5", -1_500),
        ("1.0006", 1_001),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14T22:13:20.1239Z", 1_700_000_000_123),
        ("2023-11-15T00:13:20+02:00", 1_700_000_000_000),
        ("-292273086-05-16T16:47:06Z", EARLIEST),
        ("292277025-08-18T07:12:54.999999999Z", LATEST),
    ],
)
def test_time_is_unix_seconds_or_a_calendar_date(text: str, moment: int) -> None:
    assert given_as(time=text).time("time") == moment


@pytest.mark.parametrize(
    "text", ["", "x", "nan", "inf", "1e300", "1_0", " 1", "2023-11-14", "2023-13-14T22:13:20Z"]
)
def test_other_time_is_refused(text: str) -> None:
    with pytest.raises(
        BadDataError, match=r'invalid parameter "time": cannot parse ".*" to a valid timestamp'
    ):
        given_as(time=text).time("time")


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("15", 15_000),
        ("0.5", 500),
        ("0.00001", 1),
        ("1h30m", 5_400_000),
        ("1d", 86_400_000),
        ("5ms", 5),
        ("-5", -5000),
    ],
)
def test_duration_is_seconds_or_units(text: str, length: int) -> None:
    assert given_as(step=text).duration("step") == length


@pytest.mark.parametrize("text", ["", "x", "1m1h", "5 m", "inf", "1e30", "9999999999999y"])
def test_other_duration_is_refused(text: str) -> None:
    with pytest.raises(BadDataError, match='invalid parameter "step": cannot parse'):
        given_as(step=text).duration("step")


def test_fields_of_the_form_come_first() -> None:
    both = Parameters(b"query=a&match[]=x", b"query=b&match[]=y")
    assert both.one("query") == "b"
    assert both.every("match[]") == ["y", "x"]


def test_limit_of_nothing_and_zero_is_none() -> None:
    assert [given_as(limit=text).limit() for text in ("", "0", "7")] == [None, None, 7]


@pytest.mark.parametrize(
    ("escaped", "name"),
    [("a_b", "a_b"), ("U__a_2e_b", "a.b"), ("U__a__b", "a_b"), ("U__a_ffffffff_", "U__a_ffffffff_")],
)
def test_label_of_a_path_may_be_escaped(escaped: str, name: str) -> None:
    assert label_name(escaped) == name


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_garbage_gives_values_or_the_error_of_a_bad_request(query: bytes, form: bytes) -> None:
    try:
        found = Parameters(query, form)
        for ask in (found.time, found.duration, found.limit):
            ask(found.one("a"))
        found.selectors()
    except BadDataError:
        pass


@given(st.text(max_size=40))
def test_any_text_is_a_time_a_duration_a_limit_or_refused(text: str) -> None:
    fields = Parameters(urlencode({"a": text, "match[]": text}, errors="replace").encode())
    for read in (fields.time, fields.duration, fields.limit, lambda _: fields.selectors()):
        try:
            read("a")
        except BadDataError:
            pass
