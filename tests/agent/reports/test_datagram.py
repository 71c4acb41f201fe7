from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.agent.reports.datagram import MOST_BYTES, InvalidReportError, Report, parse_report, sender_of


def _parse(content: object) -> Report:
    return parse_report(json.dumps(content).encode())


def test_names_and_numbers_are_values_and_rank_and_job_are_labels() -> None:
    report = _parse({"loss": 1.5, "step": 7, "rank": 3, "job_id": "4711_2"})

    assert report == Report({"loss": 1.5, "step": 7.0}, "3", "4711_2")


def test_loss_that_is_no_number_any_more_is_kept() -> None:
    values = parse_report(b'{"loss": NaN, "scale": Infinity}').values

    assert math.isnan(values["loss"])
    assert math.isinf(values["scale"])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"loss": 1', "not JSON"),
        (b"[" * 5000, "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"{}", "0 names"),
        (b'{"rank": 1}', "0 names"),
        (b'{"loss": "low"}', "not a number"),
        (b'{"loss": null}', "not a number"),
        (b'{"loss": [1]}', "not a number"),
        (b'{"lo\\u0000ss": 1}', "name"),
        (b'{"": 1}', "name"),
        (b'{"' + b"x" * 65 + b'": 1}', "name"),
        (b'{"loss": 1' + b"0" * 400 + b"}", "too large"),
        (b'{"loss": 1, "rank": {}}', "short word"),
        (b'{"loss": 1, "job_id": "a\\nb"}', "short word"),
        (b'{"a": 1}' + b" " * MOST_BYTES, "longer than"),
        (json.dumps({f"n{i}": i for i in range(51)}).encode(), "51 names"),
    ],
)
def test_what_is_no_report_is_refused_with_a_reason(data: bytes, why: str) -> None:
    with pytest.raises(InvalidReportError, match=why):
        parse_report(data)


NUMBERS = st.none() | st.floats() | st.integers() | st.text(max_size=3)
OBJECTS = st.dictionaries(st.text(max_size=4), NUMBERS, max_size=5).map(
    lambda each: json.dumps(each).encode()
)


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode) | OBJECTS)
def test_whatever_comes_is_a_report_or_refused(data: bytes) -> None:
    try:
        report = parse_report(data)
    except InvalidReportError:
        return
    assert report.values
    assert all(isinstance(value, float) for value in report.values.values())


def test_datagram_without_credentials_or_from_another_namespace_is_refused() -> None:
    for ancillary in ([], [(1, 2, b"\0" * 12)], [(1, 1, b"x")]):
        with pytest.raises(InvalidReportError, match="cannot be seen"):
            sender_of(ancillary)
