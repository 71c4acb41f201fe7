"""Integer vectors of any magnitudes come back in their order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vigie.model.nan import ABSENT_BITS, NAN_BITS, STALE_BITS
from vigie.store.compression.codec import QUICK, THOROUGH
from vigie.store.compression.magnitudes import compress_vectors, decompress_vectors, fill_vectors

special = st.sampled_from([NAN_BITS, STALE_BITS, ABSENT_BITS, 0, 1 << 63])
words = special | st.integers(0, 2**64 - 1) | st.floats().map(lambda x: int(np.float64(x).view(np.uint64)))


def test_small_numbers_beside_large_ones_cost_what_they_cost_alone() -> None:
    chance = np.random.default_rng(1)
    small, large = chance.integers(0, 4, (24, 400)), chance.integers(0, 10**9, (24, 400))
    mixed = np.stack([small, large], axis=1).reshape(48, 400)
    alone = len(compress_vectors(small, THOROUGH)) + len(compress_vectors(large, THOROUGH))
    assert len(compress_vectors(mixed, THOROUGH)) < 1.02 * alone


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32))
def test_vectors_of_any_sizes_come_back_in_their_order(height: int, columns: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    sizes = 2 ** chance.integers(0, 62, (height, 1))
    vectors = chance.integers(-sizes, sizes, (height, columns))
    compressed, some = compress_vectors(vectors, QUICK), np.sort(chance.permutation(height)[: height // 2])
    assert decompress_vectors(compressed, height, columns).tolist() == vectors.tolist()
    few = np.empty((len(some), columns), dtype=np.int64)
    fill_vectors(compressed, some, few)
    assert few.tolist() == vectors[some].tolist()
