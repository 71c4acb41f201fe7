"""The lines of a scrape in their order, by which the next one is read quickly where some give times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vigie.model.table import Series
from vigie.server.scrape.line import Line, numbers, times_of


class Timed(NamedTuple):
    """A sample whose time the exporter gives."""

    text: str  # which spells the series
    series: Series
    value: float
    time_ms: int


class Order:
    """Which lines there were, and which of them had a time."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._texts = [line.text for line in lines]
        self._lengths = [len(text) for text in self._texts]
        self._plain = [i for i, line in enumerate(lines) if line.time_ms is None]
        self._timed = [
            (i, line.text, line.series) for i, line in enumerate(lines) if line.time_ms is not None
        ]

    def read(self, lines: list[str], openmetrics: bool) -> tuple[list[float], list[Timed]] | None:
        """Return the values without and those with a time, or None where the lines are not as they were."""
        if len(lines) != len(self._texts) or not all(map(str.startswith, lines, self._texts)):
            return None
        rests = [line[length:] for line, length in zip(lines, self._lengths, strict=True)]
        row = numbers([rests[i] for i in self._plain])
        words = [rests[i].split(" ") for i, _, _ in self._timed]
        if row is None or any(len(word) != 2 for word in words):
            return None
        values = numbers([value for value, _ in words])
        if values is None:
            return None
        try:
            times = times_of([time for _, time in words], openmetrics)
        except ValueError:
            return None  # a closer look tells what it is
        timed = [
            Timed(text, series, value, time)
            for (_, text, series), value, time in zip(self._timed, values, times, strict=True)
        ]
        return row, timed
