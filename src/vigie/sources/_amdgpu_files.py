"""Parsers of amdgpu files that contain more than a number."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

MEGAHERTZ = 1_000_000
LEVEL = re.compile(r"^\s*\w+:\s*(\d{1,6})\s*M[Hh]z\s*\*\s*$", re.MULTILINE)
SPEED = re.compile(r"^(\d{1,3}(?:\.\d)?) GT/s")
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
COUNT = re.compile(r"^\s*([a-z]{2})\s*:\s*(\d{1,19})\s*$", re.MULTILINE)

# gpu_metrics starts with its size and version. In this version the last number has one bit per
# throttle reason, 16 per kind. All bits are set if it is not measured.
METRICS_HEAD = struct.Struct("<HBB")
METRICS_SIZE, METRICS_VERSION = 120, (1, 3)
REASONS_AT, REASONS = struct.Struct("<112xQ"), ("power_cap", "current_limit", "thermal", "other")
NOT_MEASURED = (1 << 64) - 1


def parse_current_clock(text: str) -> float | None:
    """Return the clock in hertz that a pp_dpm file marks with a star, or None."""
    match = LEVEL.search(text)
    return int(match.group(1)) * MEGAHERTZ if match else None


def parse_pcie_generation(text: str) -> float | None:
    """Return the PCIe generation of a speed such as `16.0 GT/s PCIe`, or None."""
    match = SPEED.match(text)
    return GENERATIONS.get(float(match.group(1))) if match else None


def parse_ras_counts(text: str) -> Iterator[tuple[str, int]]:
    """Yield error kind and count from lines such as `ue: 0`."""
    for kind, errors in COUNT.findall(text):
        yield kind, int(errors)


def parse_throttle_reasons(table: bytes) -> Iterator[tuple[str, int]]:
    """Yield each throttle reason, and 1 if it is active, from gpu_metrics."""
    if len(table) < METRICS_SIZE:
        return
    size, *version = METRICS_HEAD.unpack_from(table)
    bits = REASONS_AT.unpack_from(table)[0]
    if size == METRICS_SIZE and tuple(version) == METRICS_VERSION and bits != NOT_MEASURED:
        for place, reason in enumerate(REASONS):
            yield reason, int(bits >> 16 * place & 0xFFFF != 0)
