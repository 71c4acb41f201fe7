"""Noise that depends only on the time, so that the past is reproducible."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Numbers = NDArray[np.float64]

_A, _B, _C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


class Noise:
    """Random numbers of one cluster, by name and time."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def uniform(self, name: str, times: Times, every_ms: int) -> Numbers:
        """Return numbers from 0 to 1, a new one per period in milliseconds."""
        return self._hash_noise(np.uint64(zlib.crc32(f"{self._seed}/{name}".encode())), times, every_ms)

    def each(self, name: str, count: int, times: Times, every_ms: int, width: float) -> Numbers:
        """Return numbers around 1 for several things: a row for each."""
        first = np.uint64(zlib.crc32(f"{self._seed}/{name}".encode()))
        keys = (first + np.arange(3 * count, dtype=np.uint64) * np.uint64(7919))[:, None]
        parts = self._hash_noise(keys, times, every_ms).reshape(3, count, len(times))
        around: Numbers = 1.0 + width * (parts.sum(axis=0) - 1.5)
        return around

    def _hash_noise(self, key: Any, times: Times, every_ms: int) -> Numbers:
        """Return numbers from 0 to 1 for keys and times, with splitmix64's mixer."""
        with np.errstate(over="ignore"):
            mixed = ((times // every_ms).astype(np.uint64) + (key << np.uint64(32) | key)) * _A
            mixed = (mixed ^ (mixed >> _SHIFTS[0])) * _B
            mixed = (mixed ^ (mixed >> _SHIFTS[1])) * _C
        mixed ^= mixed >> _SHIFTS[2]
        shares: Numbers = (mixed >> np.uint64(11)).astype(np.float64) / float(1 << 53)
        return shares

    def around(self, name: str, times: Times, every_ms: int, width: float) -> Numbers:
        """Return numbers around 1, mostly within the width."""
        parts = [self.uniform(f"{name}/{part}", times, every_ms) for part in range(3)]
        return 1.0 + width * (sum(parts, start=np.zeros(len(times))) - 1.5)

    def smooth(self, name: str, times: Times, every_ms: int) -> Numbers:
        """Return numbers from 0 to 1 that drift from one period to the next."""
        share = (times % every_ms) / every_ms
        return (
            self.uniform(name, times, every_ms) * (1 - share)
            + self.uniform(name, times + every_ms, every_ms) * share
        )
