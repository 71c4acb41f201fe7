from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.model.nan import ABSENT_BITS, NAN_BITS, STALE_BITS
from vigie.store.compression.codec import (
    DECIMAL,
    PCODEC,
    ZLIB,
    find_faults,
    is_dense,
    pack_floats,
    pack_text,
    pack_times,
    unpack_floats,
    unpack_text,
    unpack_times,
)
from vigie.store.compression.decimals import MIN_VALUES
from vigie.store.errors import CorruptionError

special = st.sampled_from([NAN_BITS, STALE_BITS, ABSENT_BITS, 0, 1 << 63])
words = st.lists(special | st.integers(0, 2**64 - 1), max_size=50)
codecs = st.sampled_from([PCODEC, ZLIB])


@given(words, codecs)
def test_any_bit_pattern_comes_back(patterns: list[int], codec: int) -> None:
    given_bits = np.array(patterns, dtype=np.uint64)
    blob = pack_floats(given_bits.view(np.float64), codec)
    assert unpack_floats(blob).view(np.uint64).tolist() == patterns
    assert is_dense(blob) == (ABSENT_BITS not in patterns)


@given(st.lists(st.integers(-(2**55), 2**55), min_size=1, max_size=50), st.integers(0, 6), st.data())
def test_numbers_with_few_decimals_come_back(whole: list[int], decimals: int, data: st.DataObject) -> None:
    values = np.resize([number / 10**decimals for number in whole], 2 * MIN_VALUES)
    if data.draw(st.booleans()):
        values[data.draw(st.integers(0, len(values) - 1))] = data.draw(st.floats())
    found = unpack_floats(pack_floats(values))
    assert found.view(np.uint64).tolist() == values.view(np.uint64).tolist()


def test_hundredths_of_counters_that_differ_in_size_are_kept_as_whole_numbers() -> None:
    chance = np.random.default_rng(1)
    starts = chance.integers(10**6, 10**9, (320, 1))
    values = np.round((starts + chance.integers(0, 1000, (320, 64)).cumsum(axis=1)) / 100, 2)
    blob = pack_floats(values)
    assert blob[0] == DECIMAL
    assert len(blob) < 1.5 * values.size


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50), codecs)
def test_any_times_come_back(times: list[int], codec: int) -> None:
    assert unpack_times(pack_times(np.array(times, dtype=np.int64), codec)).tolist() == times


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    assert unpack_text(pack_text(text)) == text


@given(words, codecs, st.data())
def test_any_flipped_bit_is_noticed(patterns: list[int], codec: int, data: st.DataObject) -> None:
    blob = bytearray(pack_floats(np.array(patterns, dtype=np.uint64).view(np.float64), codec))
    at = data.draw(st.integers(0, len(blob) * 8 - 1))
    blob[at // 8] ^= 1 << at % 8
    assert find_faults(bytes(blob))
    with pytest.raises(CorruptionError):
        unpack_floats(bytes(blob))
