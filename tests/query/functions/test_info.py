"""info(), computed by hand after Prometheus 3's documentation: 2.42 does not have it."""

from __future__ import annotations

import pytest

from tests.query.series import MINUTE, engine, matrix, vector
from vigie.query.errors import BadDataError, ExecutionError

SERIES: dict[str, list[float | None]] = {
    'up{instance="a",job="j"}': [1.0],
    'up{instance="b",job="j"}': [0.0],
    'target_info{instance="a",job="j",version="1",zone="x"}': [1.0],
    'build_info{instance="a",job="j",commit="c0ffee"}': [1.0],
    'build_info{instance="b",job="j",commit="beef"}': [1.0],
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (  # all data labels of target_info; what has none stays as it is
            "info(up)",
            {'up{instance="a",job="j",version="1",zone="x"}': 1.0, 'up{instance="b",job="j"}': 0.0},
        ),
        (  # only the labels that are asked for; what lacks them is dropped
            'info(up, {version=~".+"})',
            {'up{instance="a",job="j",version="1"}': 1.0},
        ),
        (  # unless the empty value fits too
            'info(up, {version=~".*"})',
            {'up{instance="a",job="j",version="1"}': 1.0, 'up{instance="b",job="j"}': 0.0},
        ),
        ('info(up, {version="2"})', {}),
        (
            'info(up, {__name__="build_info"})',
            {'up{commit="c0ffee",instance="a",job="j"}': 1.0, 'up{commit="beef",instance="b",job="j"}': 0.0},
        ),
        (
            'info(up, {__name__=~"(target|build)_info", commit=~".*", zone=~".*"})',
            {
                'up{commit="c0ffee",instance="a",job="j",zone="x"}': 1.0,
                'up{commit="beef",instance="b",job="j"}': 0.0,
            },
        ),
        (  # only a refusal: then all that end in _info are looked at
            'info(up, {__name__!="target_info"})',
            {'up{commit="c0ffee",instance="a",job="j"}': 1.0, 'up{commit="beef",instance="b",job="j"}': 0.0},
        ),
        (  # the name is lost before, the labels are found all the same
            "info(up * 3)",
            {'{instance="a",job="j",version="1",zone="x"}': 3.0, '{instance="b",job="j"}': 0.0},
        ),
        ("info(sum(up))", {"{}": 1.0}),
        ('info(sum(up), {version=~".+"})', {}),
        (  # info series are not enriched
            "info(target_info)",
            {'target_info{instance="a",job="j",version="1",zone="x"}': 1.0},
        ),
        (
            "info(up, {})",
            {'up{instance="a",job="j",version="1",zone="x"}': 1.0, 'up{instance="b",job="j"}': 0.0},
        ),
        ("info(nothing)", {}),
    ],
)
def test_data_labels_of_info_series_are_added(query: str, expected: dict[str, float]) -> None:
    assert vector(engine(SERIES).instant(query, 0)) == expected


def test_labels_that_a_series_has_already_stay() -> None:
    asked = engine(
        {'x{instance="a",job="j",zone="own"}': [1.0], 'target_info{instance="a",job="j",zone="other"}': [1.0]}
    )
    assert vector(asked.instant("info(x)", 0)) == {'x{instance="a",job="j",zone="own"}': 1.0}


def test_newer_of_two_info_series_counts_and_labels_change_over_time() -> None:
    asked = engine(
        {
            'x{instance="a",job="j"}': [1.0, 2.0, 3.0],
            'target_info{instance="a",job="j",version="1"}': [1.0, None, None],  # not said to have ended
            'target_info{instance="a",job="j",version="2"}': [None, None, 1.0],
        }
    )
    assert matrix(asked.range("info(x)", 0, 2 * MINUTE, MINUTE)) == {
        'x{instance="a",job="j",version="1"}': [(0, 1.0), (MINUTE, 2.0)],
        'x{instance="a",job="j",version="2"}': [(2 * MINUTE, 3.0)],
    }


def test_series_is_dropped_only_while_it_has_no_info() -> None:
    asked = engine(
        {
            'x{instance="a",job="j"}': [1.0, 2.0],
            'target_info{instance="a",job="j",version="1"}': [None, 1.0],
        }
    )
    found = asked.range('info(x, {version=~".+"})', 0, MINUTE, MINUTE)
    assert matrix(found) == {'x{instance="a",job="j",version="1"}': [(MINUTE, 2.0)]}


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ('target_info{instance="a",job="j",version="2"}', "found duplicate series for info metric"),
        ('build_info{instance="a",job="j",version="2"}', "conflicting label: version"),
    ],
)
def test_info_that_contradicts_itself_is_an_error(series: str, message: str) -> None:
    asked = engine(
        {
            'x{instance="a",job="j"}': [1.0],
            'target_info{instance="a",job="j",version="1"}': [1.0],
            series: [1.0],
        }
    )
    with pytest.raises(ExecutionError, match=message):
        asked.instant('info(x, {__name__=~".+_info"})', 0)


@pytest.mark.parametrize("argument", ["y", "rate(y[5m])", "sum(y)", '{a="b"} offset 5m', "y{a='b'}"])
def test_second_argument_must_be_matchers_in_braces(argument: str) -> None:
    with pytest.raises(BadDataError, match="expected label selectors only"):
        engine(SERIES).instant(f"info(up, {argument})", 0)
