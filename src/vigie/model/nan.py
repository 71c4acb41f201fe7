"""Three NaN bit patterns, compared by their bits, never with isnan."""

from __future__ import annotations

import struct

NAN_BITS = 0x7FF8_0000_0000_0001  # a measured value that is not a number
STALE_BITS = 0x7FF0_0000_0000_0002  # Prometheus's stale marker: the series has ended
ABSENT_BITS = 0x7FF8_0000_0000_0ABE  # no value; exists only in frames and blocks


def float_from_bits(bits: int) -> float:
    """Return the float64 with exactly these bits."""
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


def float_to_bits(value: float) -> int:
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits


NAN = float_from_bits(NAN_BITS)
STALE = float_from_bits(STALE_BITS)
ABSENT = float_from_bits(ABSENT_BITS)


def is_absent(value: float) -> bool:
    """Return whether the value means "no sample"."""
    return value != value and float_to_bits(value) == ABSENT_BITS


def is_stale(value: float) -> bool:
    """Return whether the value is Prometheus's stale marker."""
    return value != value and float_to_bits(value) == STALE_BITS
