"""Answers as JSON: every number as Go spells it, whatever it is."""

from __future__ import annotations

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vigie.query.engine import QueryResult, ResultSeries
from vigie.query.functions.number_format import format_number
from vigie.server.api.prometheus.json_encoder import encode_time, numbers, result


def go(value: float) -> str:
    """What strconv gives: an exponent only below 1e-6 and from 1e21 on."""
    if math.isfinite(value) and value and not 1e-6 <= abs(value) < 1e21:
        mantissa, _, exponent = repr(value).partition("e")
        return f"{mantissa}e{int(exponent):+03}"
    return format_number(value)


@given(st.lists(st.floats() | st.integers(-(10**18), 10**18).map(float), max_size=30))
def test_numbers_in_bulk_are_spelled_as_each_alone(values: list[float]) -> None:
    assert [text.decode() for text in numbers(np.array(values))] == [go(value) for value in values]


def test_moments_have_milliseconds_only_when_there_are_some() -> None:
    assert [encode_time(time) for time in (0, 1500, 1_700_000_000_007, -1)] == [
        "0",
        "1.500",
        "1700000000.007",
        "-0.001",
    ]


def test_series_with_other_times_keep_their_own() -> None:
    def line(name: str, *times: int) -> ResultSeries:
        return ResultSeries({"a": name}, np.array(times, dtype=np.int64), np.arange(float(len(times))))

    answer = QueryResult(
        "matrix", [line("x", 0, 1000), line("y", 1000), line("z", 0, 1000)], "", ("careful",)
    )
    said = json.loads(b"".join(result(answer, 0)))
    assert [series["values"] for series in said["data"]["result"]] == [
        [[0, "0"], [1, "1"]],
        [[1, "0"]],
        [[0, "0"], [1, "1"]],
    ]
    assert said["warnings"] == ["careful"]


@given(st.lists(st.integers(0, 20_000).map(float) | st.sampled_from([-0.0, 0.5, np.nan, -1.0]), min_size=1))
def test_small_whole_numbers_of_a_line_are_spelled_as_each_alone(values: list[float]) -> None:
    times = np.arange(len(values)) * 500
    said = json.loads(b"".join(result(QueryResult("matrix", [ResultSeries({}, times, np.array(values))]), 0)))
    expected = [[time / 1000, go(value)] for time, value in zip(times.tolist(), values, strict=True)]
    assert said["data"]["result"][0]["values"] == expected


def test_label_that_utf8_cannot_hold_is_replaced() -> None:
    answer = QueryResult("vector", [ResultSeries({"a": "\udcff"}, np.array([0]), np.array([1.0]))])
    assert json.loads(b"".join(result(answer, 0)))["data"]["result"][0]["metric"] == {"a": "?"}
