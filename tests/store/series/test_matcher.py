from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.frames import NODE
from vigie.model import Frame, Table, gauge
from vigie.query.storage import Matcher
from vigie.store.errors import InvalidMatcherError
from vigie.store.series.matcher import CompiledMatcher
from vigie.store.store import Store

BUSY = gauge("busy_ratio", "How busy it is.", "gpu", "job_id")
FANS = gauge("fan_rpm", "How fast it turns.", "fan")
SERIES = (
    (BUSY, ("0", "")),
    (BUSY, ("1", "17")),
    (BUSY, ("10", "a\nb")),
    (FANS, ("0",)),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("matchers")) as store:
        for name in ("n1", "n2"):
            store.append(
                {**NODE, "instance": name}, Frame(5, ((Table("gpu", 1, SERIES), (1.0, 2.0, 3.0, 4.0)),))
            )
        yield store


def found(store: Store, *matchers: tuple[str, str, str]) -> list[str]:
    groups = store.select([Matcher(*matcher) for matcher in matchers], 0, 9)
    labels = [labels for group in groups for labels in group.labels]
    series = store.series([Matcher(*matcher) for matcher in matchers], 0, 9)
    assert sorted(map(sorted, (one.items() for one in labels))) == sorted(
        map(sorted, (one.items() for one in series))
    )
    return sorted(f"{one['instance']} {one['__name__'][:3]} {one.get('gpu', '-')}" for one in labels)


N1 = ("instance", "=", "n1")


@pytest.mark.parametrize(
    ("matchers", "expected"),
    [
        ([("__name__", "=", "fan_rpm")], ["n1 fan -", "n2 fan -"]),
        ([("__name__", "!=", "fan_rpm"), N1], ["n1 bus 0", "n1 bus 1", "n1 bus 10"]),
        ([("gpu", "=", "1")], ["n1 bus 1", "n2 bus 1"]),
        ([("gpu", "=", ""), N1], ["n1 fan -"]),
        ([("gpu", "!=", ""), ("instance", "!=", "n1")], ["n2 bus 0", "n2 bus 1", "n2 bus 10"]),
        ([("gpu", "!=", "1"), N1], ["n1 bus 0", "n1 bus 10", "n1 fan -"]),
        ([("gpu", "=~", "1"), N1], ["n1 bus 1"]),
        ([("gpu", "=~", "1.*"), N1], ["n1 bus 1", "n1 bus 10"]),
        ([("gpu", "=~", "1?"), N1], ["n1 bus 1", "n1 fan -"]),
        ([("gpu", "!~", "1.*"), N1], ["n1 bus 0", "n1 fan -"]),
        ([("gpu", "!~", ".+"), N1], ["n1 fan -"]),
        ([("gpu", "=~", "0|1"), N1], ["n1 bus 0", "n1 bus 1"]),
        ([("job_id", "=~", "a.b"), N1], ["n1 bus 10"]),
        ([("job_id", "=", ""), N1], ["n1 bus 0", "n1 fan -"]),
        ([("nothing", "=", ""), ("gpu", "=", "0"), N1], ["n1 bus 0"]),
        ([("nothing", "!=", "")], []),
        ([("nothing", "=~", ".*"), ("gpu", "=", "0"), N1], ["n1 bus 0"]),
        ([("instance", "=~", "n[2-9]"), ("gpu", "=", "0")], ["n2 bus 0"]),
        ([("instance", "=", "")], []),
        ([("__name__", "=~", "busy.*"), ("gpu", "=", "0"), ("gpu", "!=", "0")], []),
        ([("__name__", "=~", "fan_rpm|nothing|fan_rpm")], ["n1 fan -", "n2 fan -"]),
        ([("__name__", "=~", "busy_ratio|fan_rpm"), ("__name__", "!=", "busy_ratio"), N1], ["n1 fan -"]),
        ([("__name__", "!=", "busy_ratio"), ("__name__", "=~", "f.+"), N1], ["n1 fan -"]),
        ([("__name__", "=~", "nothing|else")], []),
        ([("__name__", "=~", "fan_rpm|"), N1], ["n1 fan -"]),
    ],
)
def test_matchers_mean_what_they_mean_in_prometheus(
    store: Store, matchers: list[tuple[str, str, str]], expected: list[str]
) -> None:
    assert found(store, *matchers) == expected


@pytest.mark.parametrize(("operator", "value"), [("=~", "("), ("!~", "(?=a)"), ("~", "a")])
def test_matcher_that_makes_no_sense_is_refused(store: Store, operator: str, value: str) -> None:
    with pytest.raises(InvalidMatcherError):
        store.select([Matcher("gpu", operator, value)], 0, 9)


@given(st.text("ab.*\n", max_size=5), st.text("ab.*\n", max_size=5))
def test_regular_expressions_are_anchored_at_both_ends(literal: str, value: str) -> None:
    pattern = re.escape(literal)
    assert CompiledMatcher(Matcher("x", "=~", pattern)).test(value) == (literal == value)
    assert CompiledMatcher(Matcher("x", "!~", pattern)).test(value) == (literal != value)
