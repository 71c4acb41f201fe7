"""Samples gathered into batches: those in order together, and late ones apart.

One late sample makes a peer such as Prometheus 2.42 refuse the whole request it stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from vigie.wire.remote_write.labels import LruCache
from vigie.wire.remote_write.write_request import compress, encode_series

# Prometheus takes nothing older than an hour before the newest it has.
LATE_MS = 30 * 60_000
MAX_SERIES = 500_000

Ready = tuple[int, bytes]  # how many samples, and their series as they stand in a request


class RequestBody(NamedTuple):
    """A request, ready to be sent."""

    samples: int
    bytes: bytes


class SampleBatch:
    """What was added since the last request was made."""

    def __init__(self) -> None:
        self.count = 0
        self._ordered: list[Ready] = []
        self._late: dict[bytes, list[tuple[int, float]]] = {}  # by the labels as they stand on the wire
        self._newest: LruCache[bytes, int] = LruCache(MAX_SERIES)
        self._latest = 0

    def is_late(self, time: int, newest: int | None) -> bool:
        """Tell whether a series with so new a sample, or all series, are ahead of a time."""
        return time < self._latest - LATE_MS or (newest is not None and time <= newest)

    def add(self, section: bytes, times: Sequence[int], values: Sequence[float]) -> None:
        several = len(times) > 1
        late = self.is_late(times[0], self._newest.get(section))
        if several and (late or not _rising(times)):
            for time, value in zip(times, values, strict=True):
                self.add(section, (time,), (value,))
        elif late:
            self.add_late(section, times[0], values[0])
        else:
            self._newest.put(section, times[-1])
            self.add_ready(len(times), encode_series(section, times, values), times[-1])

    def add_ready(self, samples: int, fields: bytes, time: int) -> None:
        """Add samples, the last of this time, that are known to be in order."""
        self._ordered.append((samples, fields))
        self.count += samples
        if time > self._latest:
            self._latest = time

    def add_late(self, section: bytes, time: int, value: float) -> None:
        self._late.setdefault(section, []).append((time, value))
        self.count += 1

    def bodies(self, most: int) -> Iterator[RequestBody]:
        """Yield requests of about so many samples each, and begin anew."""
        yield from _split(self._ordered, most)
        yield from _split(map(_sorted, self._late.items()), most)
        self.count, self._ordered, self._late = 0, [], {}


def _rising(times: Sequence[int]) -> bool:
    return all(one < other for one, other in pairwise(times))


def _sorted(late: tuple[bytes, list[tuple[int, float]]]) -> Ready:
    section, pairs = late
    pairs.sort(key=lambda pair: pair[0])
    times, values = zip(*pairs, strict=True)
    return len(pairs), encode_series(section, times, values)


def _split(ready: Iterable[Ready], most: int) -> Iterator[RequestBody]:
    fields: list[bytes] = []
    count = 0
    for samples, some in ready:
        fields.append(some)
        count += samples
        if count >= most:
            yield RequestBody(count, compress(b"".join(fields)))
            fields, count = [], 0
    if fields:
        yield RequestBody(count, compress(b"".join(fields)))
