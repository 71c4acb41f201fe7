from __future__ import annotations

import math

import pytest

from tests.query.series import MINUTE, engine, matrix, vector
from vigie.query.errors import BadDataError, ExecutionError

SERIES = {
    'used{node="a",gpu="0"}': [1.0],
    'used{node="a",gpu="1"}': [2.0],
    'used{node="b",gpu="0"}': [6.0],
    'total{node="a",gpu="0"}': [4.0],
    'total{node="a",gpu="1"}': [4.0],
    'total{node="c",gpu="0"}': [8.0],
    'facts{node="a",kernel="6.1"}': [1.0],
    'facts{node="b",kernel="6.2"}': [1.0],
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("used / total", {'{gpu="0",node="a"}': 0.25, '{gpu="1",node="a"}': 0.5}),
        ('used{node="b"} + on (gpu) total{node="c"}', {'{gpu="0"}': 14.0}),
        ('used{node="b"} - ignoring (node) total{node="c"}', {'{gpu="0"}': -2.0}),
        (
            "used * on (node) group_left (kernel) facts",
            {
                '{gpu="0",kernel="6.1",node="a"}': 1.0,
                '{gpu="1",kernel="6.1",node="a"}': 2.0,
                '{gpu="0",kernel="6.2",node="b"}': 6.0,
            },
        ),
        ('facts{node="b"} / on (node) group_right used', {'{gpu="0",node="b"}': 1 / 6}),
        ("used > 1", {'used{gpu="1",node="a"}': 2.0, 'used{gpu="0",node="b"}': 6.0}),
        ("2 < used", {'used{gpu="0",node="b"}': 6.0}),
        ('used{node="a"} > bool 1', {'{gpu="0",node="a"}': 0.0, '{gpu="1",node="a"}': 1.0}),
        ("total >= used", {'total{gpu="0",node="a"}': 4.0, 'total{gpu="1",node="a"}': 4.0}),
        ('total{node="c"} == on (gpu) used{node="b"} + 2', {'{gpu="0"}': 8.0}),
        ("used and total", {'used{gpu="0",node="a"}': 1.0, 'used{gpu="1",node="a"}': 2.0}),
        ("used unless total", {'used{gpu="0",node="b"}': 6.0}),
        (
            'used{node="b"} or total{node="c"}',
            {'used{gpu="0",node="b"}': 6.0, 'total{gpu="0",node="c"}': 8.0},
        ),
        ('used{node="b"} or on (gpu) total', {'used{gpu="0",node="b"}': 6.0, 'total{gpu="1",node="a"}': 4.0}),
        ('-used{node="b"}', {'{gpu="0",node="b"}': -6.0}),
        ('used{node="b"} % 4', {'{gpu="0",node="b"}': 2.0}),
        ('-used{node="b"} % 4', {'{gpu="0",node="b"}': -2.0}),
        ('2 ^ used{node="b"}', {'{gpu="0",node="b"}': 64.0}),
        ('used{node="b"} atan2 0', {'{gpu="0",node="b"}': math.pi / 2}),
        ('used{node="b"} / 0', {'{gpu="0",node="b"}': math.inf}),
        ("1 + 2 * 3 ^ 2", {"{}": 19.0}),
        ("-1 ^ 2", {"{}": -1.0}),
        ("1 > bool 2", {"{}": 0.0}),
    ],
)
def test_operator_by_hand(query: str, expected: dict[str, float]) -> None:
    assert vector(engine(SERIES).instant(query, 0)) == pytest.approx(expected)


def test_square_root_of_minus_infinity_is_that_of_go() -> None:
    assert vector(engine({"x{}": [-math.inf]}).instant("x ^ 0.5", 0)) == {"{}": math.inf}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("facts + on (node) used", "found duplicate series for the match group on the right hand-side"),
        ("used + on (node) facts", "many-to-one matching must be explicit"),
        ("used + on (gpu) group_left total", "on the right hand-side"),
        ("facts * on (node) group_left (kernel) facts + on (node) used", "many-to-many matching not allowed"),
        ('used * on (gpu) group_left (node) total{node="c"}', "grouping labels must ensure unique matches"),
        ('-{node="a",gpu="0"}', "vector cannot contain metrics with the same labelset"),
        ('{node="a",gpu="0"} + 1', "vector cannot contain metrics with the same labelset"),
    ],
)
def test_ambiguous_matches_are_errors(query: str, message: str) -> None:
    with pytest.raises(ExecutionError, match=message) as caught:
        engine(SERIES).instant(query, 0)
    assert (caught.value.kind, caught.value.status) == ("execution", 422)


def test_series_that_replace_each_other_may_share_a_match() -> None:
    asked = engine(
        {
            'x{node="a"}': [1.0] * 12,
            'facts{node="a",kernel="1"}': [1.0] + [None] * 11,
            'facts{node="a",kernel="2"}': [None] * 6 + [1.0] * 6,
        }
    )
    points = matrix(asked.range("x + on (node) group_left (kernel) facts", 0, 8 * MINUTE, 4 * MINUTE))
    assert points == {
        '{kernel="1",node="a"}': [(0, 2.0), (4 * MINUTE, 2.0)],
        '{kernel="2",node="a"}': [(8 * MINUTE, 2.0)],
    }


def test_fill_modifiers_are_refused() -> None:
    with pytest.raises(BadDataError, match="fill"):
        engine(SERIES).instant("used + fill(0) total", 0)
