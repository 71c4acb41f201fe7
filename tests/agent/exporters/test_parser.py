"""What exporters say becomes tables: once read, only numbers are."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.agent.exporters.parser import RelayedExposition
from vigie.model import format_series, gauge
from vigie.model.nan import NAN_BITS, float_to_bits

UP = (gauge("up", "Whether it is."), ())
TEXT = """\
# HELP a_total What was done.
# TYPE a_total counter
a_total{of="x y",more="}"} 1
a_total{of="z"} 2.5 1700000000000
# TYPE took histogram
took_bucket{le="+Inf"} 3
took_sum 4
took_count 3
b NaN
"""


def read(text: str) -> dict[str, float]:
    table, values = RelayedExposition("exporter/x", [UP]).read(text)
    assert table.series[0] == UP
    return {format_series(*series): value for series, value in zip(table.series[1:], values, strict=True)}


def test_series_have_their_values_without_the_times_that_some_give() -> None:
    found = read(TEXT)
    assert float_to_bits(found.pop("b")) == NAN_BITS
    assert found == {
        'a_total{more="}",of="x y"}': 1.0,
        'a_total{of="z"}': 2.5,
        'took_bucket{le="+Inf"}': 3.0,
        "took_sum": 4.0,
        "took_count": 3.0,
    }


def test_table_stays_the_same_while_the_series_do() -> None:
    exposition = RelayedExposition("exporter/x", [UP])
    first, _ = exposition.read(TEXT)
    second, values = exposition.read(TEXT.replace(" 2.5 ", " 7 "))
    assert second is first
    assert 7.0 in values
    third, _ = exposition.read(TEXT + "c 1\n")
    assert third.version > second.version
    assert len(third.series) == len(second.series) + 1
    assert exposition.clear().series == (UP,)


@pytest.mark.parametrize("text", ["a\n", "a{ 1\n", "a x\n", 'a{b="c} 1\n', "a 1\na 2\n", "{} 1\n"])
def test_what_is_no_exposition_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(text)


@given(st.text(alphabet=st.sampled_from('a{}="\\ \n#1,\t\r'), max_size=60) | st.text(max_size=40))
def test_garbage_is_refused_or_read_and_nothing_else(text: str) -> None:
    with contextlib.suppress(ValueError):
        read(text)
