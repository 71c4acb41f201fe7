from __future__ import annotations

import math

import pytest

from tests.query.series import MINUTE, engine, matrix, vector
from vigie.query.errors import BadDataError, ExecutionError

SERIES = {"x{}": [2.5], 'y{node="node10"}': [-1.0], 'y{node="node9"}': [3.0], 'y{node="b"}': [math.nan]}
LEAP = 1_709_210_096.0  # Thursday 29 February 2024, 12:34:56


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("abs(-x)", 2.5),
        ("ceil(x)", 3.0),
        ("floor(x)", 2.0),
        ("round(x)", 3.0),
        ("round(x, 2)", 2.0),
        ("exp(x)", math.exp(2.5)),
        ("ln(x)", math.log(2.5)),
        ("log2(x)", math.log2(2.5)),
        ("log10(x)", math.log10(2.5)),
        ("sqrt(x)", math.sqrt(2.5)),
        ("sgn(-x)", -1.0),
        ("sin(x)", math.sin(2.5)),
        ("cos(x)", math.cos(2.5)),
        ("tan(x)", math.tan(2.5)),
        ("asin(x / 5)", math.pi / 6),
        ("acos(x / 5)", math.pi / 3),
        ("atan(x)", math.atan(2.5)),
        ("sinh(x)", math.sinh(2.5)),
        ("cosh(x)", math.cosh(2.5)),
        ("tanh(x)", math.tanh(2.5)),
        ("asinh(x)", math.asinh(2.5)),
        ("acosh(x)", math.acosh(2.5)),
        ("atanh(x / 5)", math.atanh(0.5)),
        ("deg(x)", math.degrees(2.5)),
        ("rad(x)", math.radians(2.5)),
        ("clamp(x, 0, 1)", 1.0),
        ("clamp_min(x, 3)", 3.0),
        ("clamp_max(x, 2)", 2.0),
        ("clamp_max(x, NaN)", math.nan),
        ("clamp_min(x, Inf)", math.inf),
        ("scalar(x)", 2.5),
        ("scalar(y)", math.nan),
        ("scalar(nothing)", math.nan),
        ("vector(4)", 4.0),
        ("pi()", math.pi),
        ("time()", 60.0),
        ("timestamp(x)", 0.0),
        ("timestamp(x * 1)", 60.0),
    ],
)
def test_function_by_hand(query: str, expected: float) -> None:
    assert vector(engine(SERIES).instant(query, MINUTE)) == pytest.approx({"{}": expected}, nan_ok=True)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("year", 2024.0),
        ("month", 2.0),
        ("day_of_month", 29.0),
        ("day_of_week", 4.0),
        ("day_of_year", 60.0),
        ("days_in_month", 29.0),
        ("hour", 12.0),
        ("minute", 34.0),
    ],
)
def test_part_of_a_date(function: str, expected: float) -> None:
    asked = engine({"x{}": [LEAP]})
    assert vector(asked.instant(f"{function}(x)", 0)) == {"{}": expected}
    assert vector(asked.instant(f"{function}()", int(LEAP) * 1000)) == {"{}": expected}
    assert math.isnan(vector(asked.instant(f"{function}(x * NaN)", 0))["{}"])


def test_clamp_between_limits_that_exclude_each_other_is_empty() -> None:
    assert engine(SERIES).instant("clamp(x, 1, 0)", 0).series == []


def test_sorting_puts_nan_last_in_both_directions() -> None:
    asked = engine(SERIES)
    assert list(vector(asked.instant("sort(y)", 0)))[:2] == ['y{node="node10"}', 'y{node="node9"}']
    assert list(vector(asked.instant("sort_desc(y)", 0)))[:2] == ['y{node="node9"}', 'y{node="node10"}']


def test_sorting_by_label_reads_numbers_as_numbers() -> None:
    asked = engine(SERIES)
    expected = ['y{node="b"}', 'y{node="node9"}', 'y{node="node10"}']
    assert list(vector(asked.instant('sort_by_label(y, "node")', 0))) == expected
    assert list(vector(asked.instant('sort_by_label_desc(y, "node")', 0))) == expected[::-1]


def test_numbers_of_any_length_are_sorted() -> None:
    names = ["a1", "a01", "a2", "a" + "9" * 5000, "a1" + "0" * 5000]
    asked = engine({f'z{{n="{name}"}}': [0.0] for name in names[::-1]})
    found = [labels["n"] for labels, _, _ in asked.instant('sort_by_label(z, "n")', 0).series]
    assert found[2:] == names[2:]
    assert set(found[:2]) == {"a1", "a01"}


def test_series_over_a_range_stand_in_label_order() -> None:
    expected = ['y{node="b"}', 'y{node="node10"}', 'y{node="node9"}']
    for query in ("y", "sort_desc(y)", 'sort_by_label(y, "node")'):
        assert list(matrix(engine(SERIES).range(query, 0, MINUTE, MINUTE))) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('label_replace(y{node="b"}, "n", "<$1>${1}$$", "node", "(.)")', 'y{n="<b>b$",node="b"}'),
        ('label_replace(y{node="b"}, "n", "$word", "node", "(?P<word>b)")', 'y{n="b",node="b"}'),
        ('label_replace(y{node="b"}, "n", "$2", "node", "(b)")', 'y{node="b"}'),
        ('label_replace(y{node="b"}, "n", "$01", "node", "(b)")', 'y{node="b"}'),
        (f'label_replace(y{{node="b"}}, "n", "${"1" * 5000}", "node", "(b)")', 'y{node="b"}'),
        ('label_replace(y{node="b"}, "n", "x", "node", "B")', 'y{node="b"}'),
        ('label_replace(y{node="b"}, "node", "", "node", ".*")', "y{}"),
        ('label_replace(y{node="b"}, "__name__", "z", "", "")', 'z{node="b"}'),
        ('label_join(y{node="b"}, "n", "-", "node", "nothing", "node")', 'y{n="b--b",node="b"}'),
    ],
)
def test_labels_are_rewritten(query: str, expected: str) -> None:
    assert list(vector(engine(SERIES).instant(query, 0))) == [expected]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('label_replace(y, "node", "same", "", "")', "same labelset"),
        ('label_replace(y, "a-b", "", "", "")', "invalid destination label name"),
        ('label_replace(y, "a", "", "node", "(")', "invalid regular expression"),
        ('label_join(y, "a-b", "", "node")', "invalid destination label name"),
        ('label_join(y, "a", "", "b-c")', "invalid source label name"),
        ("histogram_avg(y)", "native histograms are not stored"),
    ],
)
def test_impossible_calls_are_errors(query: str, message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        engine(SERIES).instant(query, 0)


def test_absence_carries_the_selected_labels() -> None:
    asked = engine(SERIES)
    assert vector(asked.instant('absent(z{a="1",b=~"2",c="3",c="4"})', 0)) == {'{a="1"}': 1.0}
    assert vector(asked.instant("absent(sum(z))", 0)) == {"{}": 1.0}
    assert asked.instant("absent(x)", 0).series == []


@pytest.mark.parametrize(
    ("matcher", "count"),
    [('node=~"node.*"', 2), ('node=~"node"', 0), ('node!~"node.+|b"', 0), ('node!=""', 3), ('other=""', 3)],
)
def test_patterns_match_whole_values_and_absent_labels_are_empty(matcher: str, count: int) -> None:
    assert len(engine(SERIES).instant(f"y{{{matcher}}}", 0).series) == count


def test_pattern_that_would_take_for_ever_does_not() -> None:
    asked = engine({f'x{{a="{"a" * 5000}"}}': [1.0]})
    assert asked.instant('x{a=~"(a+)+b"}', 0).series == []


def test_pattern_that_re2_does_not_know_is_bad_data() -> None:
    with pytest.raises(BadDataError):
        engine(SERIES).instant(r'y{node=~"(?=a)"}', 0)
