"""Frames to store, and a plain dictionary that says what must come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from vigie.model import Frame, Table, gauge
from vigie.model.nan import ABSENT_BITS, STALE_BITS, float_to_bits
from vigie.query.storage import Matcher, Storage
from vigie.store.wal.records import MAX_TIME

EVERYTHING = [Matcher("__name__", "=~", ".+")]
NODE = {"instance": "n1", "job": "node"}
TEMPERATURE = gauge("temperature_celsius", "How warm it is.", "sensor")
POWER = gauge("power_watts", "How much it draws.", "sensor")

Samples = dict[frozenset[tuple[str, str]], dict[int, int]]  # series -> time -> bits of the value


def table(sensors: Sequence[str], version: int = 1, source: str = "sensors") -> Table:
    return _table(tuple(sensors), version, source)


@lru_cache(maxsize=64)  # as over a link, where the same object comes again and again
def _table(sensors: tuple[str, ...], version: int, source: str) -> Table:
    series = tuple((metric, (sensor,)) for metric in (POWER, TEMPERATURE) for sensor in sensors)
    return Table(source, version, series)


def frame(time: int, sensors: Sequence[str], values: Iterable[float], source: str = "sensors") -> Frame:
    return Frame(time, ((table(sensors, 1, source), tuple(values)),))


def answer(
    store: Storage, matchers: Sequence[Matcher] = EVERYTHING, start: int = -MAX_TIME, end: int = MAX_TIME
) -> Samples:
    """Everything that the store says, bit for bit; also checks what every group promises."""
    samples: Samples = {}
    for group in store.select(matchers, start, end):
        assert group.values.shape == (len(group.labels), len(group.times))
        assert (np.diff(group.times) > 0).all()
        for labels, line in zip(
            group.labels, np.ascontiguousarray(group.values).view(np.uint64), strict=True
        ):
            key = frozenset(labels.items())
            assert key not in samples
            samples[key] = {
                int(time): int(value)
                for time, value in zip(group.times, line, strict=True)
                if value != ABSENT_BITS
            }
    return samples


class Model:
    """The same as a store, as a dictionary: frames by target, table and time."""

    def __init__(self) -> None:
        self.frames: dict[
            tuple[frozenset[tuple[str, str]], str], dict[int, dict[frozenset[tuple[str, str]], int]]
        ]
        self.frames = {}

    def append(self, node: Mapping[str, str], frame: Frame) -> None:
        for table, values in frame.parts:
            times = self.frames.setdefault((frozenset(node.items()), table.source), {})
            cells = {
                frozenset(
                    {**dict(zip(metric.labels, labels, strict=True)), "__name__": metric.name, **node}.items()
                ): (float_to_bits(value))
                for (metric, labels), value in zip(table.series, values, strict=True)
            }
            times.setdefault(frame.time_ms, cells)

    def delete(self, instance: str) -> None:
        self.frames = {
            key: times for key, times in self.frames.items() if ("instance", instance) not in key[0]
        }

    def answer(self, start: int = -MAX_TIME, end: int = MAX_TIME) -> Samples:
        samples: Samples = {}
        for times in self.frames.values():
            before: dict[frozenset[tuple[str, str]], int] = {}
            for time, cells in sorted(times.items()):
                there = {key: value for key, value in cells.items() if value != ABSENT_BITS}
                live = {key for key, value in before.items() if value != STALE_BITS}
                values = {**dict.fromkeys(live, STALE_BITS), **there}
                if start <= time <= end:
                    for key, value in values.items():
                        samples.setdefault(key, {})[time] = value
                before = there
        return samples
