"""What the store in format3.tar.xz holds: it was written by this file under the last vigie of format 3.

python -m tests.store.older DIRECTORY
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

from vigie.model import Frame, Metric, Table, counter, gauge
from vigie.model.values import NAN_BITS, from_bits
from vigie.store.store import Store

MINUTE = 60_000
START = 1_700_006_400_000  # where pages of rollups begin
STEPS = 9 * 60
NODE = {"instance": "n1", "job": "node"}
BYTES = counter("bytes_total", "Bytes.", "device")
SECONDS = counter("seconds_total", "Seconds.", "core")
RATIO = gauge("busy_ratio", "A ratio.", "core")
HEAT = gauge("heat_celsius", "Heat.", "core")
SIZE = gauge("size_bytes", "What never changes.", "device")

Series = tuple[Metric, tuple[str, ...]]


def value(metric: Metric, which: int, step: int) -> float:
    """Return the number of a series at a step."""
    if metric is BYTES:
        return float((step % 200) * (1000 + 37 * which) + step * step)  # begins anew now and then
    if metric is SECONDS:
        return round(step * (0.25 + 0.01 * which), 2)
    if metric is RATIO:
        return from_bits(NAN_BITS) if (step + which) % 97 == 0 else math.sin(step / 10 + which)
    if metric is HEAT:
        return float(40 + (step * 7 + which * 3) % 11)
    return 1e9 + which


def series_at(step: int) -> list[tuple[Metric, int]]:
    """Return which series there are at a step: one device leaves, and comes back."""
    devices = [0, 1] if 100 <= step < 130 else [0, 1, 2]
    every = [(metric, which) for metric in (BYTES, SIZE) for which in devices]
    return every + [(metric, which) for metric in (SECONDS, RATIO, HEAT) for which in range(4)]


def frames() -> Iterator[Frame]:
    """Yield all that was stored."""
    version, before = 0, None
    for step in range(1, STEPS + 1):
        series = series_at(step)
        version, before = version + (series != before), series
        named: tuple[Series, ...] = tuple((metric, (str(which),)) for metric, which in series)
        values = tuple(value(metric, which, step) for metric, which in series)
        yield Frame(START + step * MINUTE, ((Table("all", version, named), values),))


if __name__ == "__main__":
    with Store(Path(sys.argv[1])) as written:
        for frame in frames():
            written.append(NODE, frame)
            written.sync()
            written.maintain(frame.time_ms)
