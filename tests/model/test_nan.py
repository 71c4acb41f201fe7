from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.model import ABSENT, NAN, STALE, is_absent, is_stale
from vigie.model.nan import ABSENT_BITS, NAN_BITS, STALE_BITS, float_from_bits, float_to_bits


def test_the_three_are_all_nan_and_all_different() -> None:
    assert [float_to_bits(value) for value in (NAN, STALE, ABSENT)] == [NAN_BITS, STALE_BITS, ABSENT_BITS]
    assert all(math.isnan(value) for value in (NAN, STALE, ABSENT))
    assert len({NAN_BITS, STALE_BITS, ABSENT_BITS}) == 3


@pytest.mark.parametrize(
    ("value", "absent", "stale"), [(NAN, 0, 0), (STALE, 0, 1), (ABSENT, 1, 0), (0.0, 0, 0)]
)
def test_each_is_told_by_its_bits(value: float, absent: int, stale: int) -> None:
    assert (is_absent(value), is_stale(value)) == (bool(absent), bool(stale))


@given(st.integers(0, 2**64 - 1))
def test_any_bits_survive_the_way_through_a_float(bits: int) -> None:
    assert float_to_bits(float_from_bits(bits)) == bits
