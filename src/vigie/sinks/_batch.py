"""Samples gathered into batches: those in order together, and late ones apart.

One late sample makes a peer such as Prometheus 2.42 refuse the whole request it stands in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.sinks._recent import Recent
from vigie.sinks._write_request import compress, series_field

# Prometheus takes nothing older than an hour before the newest it has.
LATE_MS = 30 * 60_000
MAX_SERIES = 500_000

Samples = dict[bytes, list[tuple[int, float]]]  # by the labels as they stand on the wire


class Body(NamedTuple):
    """A request, ready to be sent."""

    samples: int
    bytes: bytes


class Batch:
    """What was added since the last request was made."""

    def __init__(self) -> None:
        self.count = 0
        self._ordered: Samples = {}
        self._late: Samples = {}
        self._newest: Recent[bytes, int] = Recent(MAX_SERIES)
        self._latest = 0

    def add(self, section: bytes, time: int, value: float) -> None:
        """Add a sample; it is late when its series, or all series, are ahead of it."""
        newest = self._newest.get(section)
        late = time < self._latest - LATE_MS or (newest is not None and time <= newest)
        (self._late if late else self._ordered).setdefault(section, []).append((time, value))
        self.count += 1
        if newest is None or time > newest:
            self._newest.put(section, time)
        self._latest = max(self._latest, time)

    def bodies(self, most: int) -> Iterator[Body]:
        """Yield requests of about so many samples each, and begin anew."""
        for samples in (self._ordered, self._late):
            for each in samples.values():
                if len(each) > 1:
                    each.sort(key=lambda pair: pair[0])
            yield from _split(samples, most)
        self.count, self._ordered, self._late = 0, {}, {}


def _split(samples: Samples, most: int) -> Iterator[Body]:
    fields: list[bytes] = []
    count = 0
    for section, pairs in samples.items():
        fields.append(series_field(section, [time for time, _ in pairs], [value for _, value in pairs]))
        count += len(pairs)
        if count >= most:
            yield Body(count, compress(b"".join(fields)))
            fields, count = [], 0
    if fields:
        yield Body(count, compress(b"".join(fields)))
