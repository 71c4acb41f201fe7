"""Reads a target's exposition, scrape after scrape.

An exporter repeats itself: what stands before the values seldom changes. When every line begins as it did
in the scrape before, only the values are read. Otherwise each line is looked up in what is known, and only a
new one is taken apart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vigie.model.nan import ABSENT
from vigie.model.table import Series
from vigie.server.ingest.metadata import families
from vigie.server.scrape.series_cache import PLAIN, LabelPolicy, ScrapeCache, ScrapeLayout
from vigie.wire.exposition.line_parser import (
    ExpositionLine,
    ParseError,
    parse_line,
    parse_timestamp,
    parse_timestamps,
    parse_value,
    parse_values,
)

EOF = "# EOF"
LINES_A_LOOK = 1000  # at the clock


class TimedSample(NamedTuple):
    text: str  # which spells the series
    series: Series
    value: float
    time_ms: int


class LineOrder:
    """Which lines there were, and which of them had a time."""

    def __init__(self, lines: Sequence[ExpositionLine]) -> None:
        self._texts = [line.text for line in lines]
        self._lengths = [len(text) for text in self._texts]
        self._plain = [i for i, line in enumerate(lines) if line.time_ms is None]
        self._timed = [
            (i, line.text, line.series) for i, line in enumerate(lines) if line.time_ms is not None
        ]

    def read(self, lines: list[str], openmetrics: bool) -> tuple[list[float], list[TimedSample]] | None:
        """Return the values without and those with a time, or None where the lines are not as they were."""
        if len(lines) != len(self._texts) or not all(map(str.startswith, lines, self._texts)):
            return None
        rests = [line[length:] for line, length in zip(lines, self._lengths, strict=True)]
        row = parse_values([rests[i] for i in self._plain])
        words = [rests[i].split(" ") for i, _, _ in self._timed]
        if row is None or any(len(word) != 2 for word in words):
            return None
        values = parse_values([value for value, _ in words])
        if values is None:
            return None
        try:
            times = parse_timestamps([time for _, time in words], openmetrics)
        except ValueError:
            return None  # a closer look tells what it is
        timed = [
            TimedSample(text, series, value, time)
            for (_, text, series), value, time in zip(self._timed, values, times, strict=True)
        ]
        return row, timed


class ScrapedSamples(NamedTuple):
    layout: ScrapeLayout
    row: list[float]  # in the layout's order; some may be absent
    timed: list[TimedSample]
    samples: int
    added: int  # series that the scrape before did not have


class ScrapeParser:
    """Reads what one target says; it remembers the scrape before."""

    def __init__(
        self, catalogue: ScrapeCache, shelf: LabelPolicy = PLAIN, *, honor_times: bool = True
    ) -> None:
        self._catalogue, self._shelf, self._honor_times = catalogue, shelf, honor_times
        self._layout = catalogue.layout({}, shelf)
        self._there = frozenset[str]()  # texts that the last scrape had, where it had not all
        self._order: LineOrder | None = None  # the lines of the last scrape, where some gave times
        self._until = self._seconds = math.inf  # when the reading is given up

    def parse(
        self, body: bytes, *, openmetrics: bool = False, most: int = 0, seconds: float = math.inf
    ) -> ScrapedSamples:
        """Return the samples of a body, or raise ParseError; too many or too long a time are an error."""
        self._until, self._seconds = time.monotonic() + seconds, seconds
        if most and body.count(b"\n") - body.count(b"\n#") > 2 * most:  # before anything is made of it
            raise ParseError(f"more than {2 * most} samples, and the bound is {most} (scrape.sample_limit)")
        try:
            content = body.decode()
        except UnicodeDecodeError as error:
            raise ParseError(f"byte {error.start} is not text in UTF-8") from None
        if openmetrics:
            content = _until_end(content)
        lines = [line for line in content.split("\n") if line and line[0] != "#"]
        row, timed = self._quick(lines, openmetrics)
        if row is None:
            bare = (line.strip(" \t") for line in lines)
            lines = [line for line in bare if line and line[0] != "#"]
        if most and len(lines) > most:
            raise ParseError(f"{len(lines)} samples, and the bound is {most} (scrape.sample_limit)")
        if row is None:
            before = self._layout
            scraped = self._sorted_out(lines, openmetrics, content)
            if self._layout is not before:
                self._catalogue.described.take(families(content))
            return scraped
        added = len(self._layout) - len(self._there) if self._there else 0
        self._there = frozenset()
        return ScrapedSamples(self._layout, row, timed, len(lines), added)

    def _quick(self, lines: list[str], openmetrics: bool) -> tuple[list[float] | None, list[TimedSample]]:
        """Return the values if all lines begin as in the scrape before, and only values and times follow."""
        if self._order is not None:
            return self._order.read(lines, openmetrics) or (None, [])
        layout = self._layout
        if len(lines) != len(layout) or not all(map(str.startswith, lines, layout.texts)):
            return None, []
        return parse_values([line[length:] for line, length in zip(lines, layout.lengths, strict=True)]), []

    def _sorted_out(self, lines: list[str], openmetrics: bool, content: str) -> ScrapedSamples:
        plain: dict[str, float] = {}
        series_of: dict[str, Series] = {}
        timed: list[TimedSample] = []
        samples = list(self._read(lines, openmetrics, content))
        for line in samples:
            if line.time_ms is None or not self._honor_times:
                plain.setdefault(line.text, line.value)
                series_of.setdefault(line.text, line.series)
            else:
                timed.append(TimedSample(line.text, line.series, line.value, line.time_ms))
        old = self._layout
        before = self._there or frozenset(old.texts)
        kept = sum(text in plain for text in old.texts)
        if kept < len(plain) or 2 * kept < len(old):
            self._layout = self._catalogue.layout(series_of, self._shelf)
        row = [plain.get(text, ABSENT) for text in self._layout.texts]
        added = len(plain.keys() - before)
        self._there = frozenset(plain) if len(plain) < len(self._layout) else frozenset()
        in_order = len(plain) + len(timed) == len(lines) and tuple(plain) == self._layout.texts
        self._order = LineOrder(samples) if timed and in_order else None
        return ScrapedSamples(self._layout, row, timed, len(lines), added)

    def _read(self, lines: list[str], openmetrics: bool, content: str) -> Iterable[ExpositionLine]:
        for place, line in enumerate(lines):
            if place % LINES_A_LOOK == 0 and time.monotonic() > self._until:
                raise ParseError(f"{len(lines)} samples could not be read within {self._seconds:g} s")
            try:
                found = self._known(line, openmetrics)
                if found is None:
                    found = parse_line(line, openmetrics)
                    self._catalogue.learn(found.text, found.series)
            except ParseError as error:
                raise ParseError(f"line {_line_number(content, line)}: {error}") from None
            yield found

    def _known(self, line: str, openmetrics: bool) -> ExpositionLine | None:
        """Return the sample, if the series is known and the line spelt in the usual way."""
        known = self._catalogue.known
        last = line.rfind(" ") + 1
        text = line[:last]
        if "\t" in line:
            return None
        if (series := known.get(text)) is not None:
            return ExpositionLine(text, series, parse_value(line[last:]), None)
        middle = line.rfind(" ", 0, max(0, last - 1)) + 1
        text = line[:middle]
        if middle < last - 1 and (series := known.get(text)) is not None:  # the last word is a time then
            time_ms = parse_timestamp(line[last:], openmetrics)
            return ExpositionLine(text, series, parse_value(line[middle : last - 1]), time_ms)
        return None


def _line_number(content: str, wanted: str) -> int:
    lines = content.split("\n")
    return next(number for number, line in enumerate(lines, 1) if line.strip(" \t") == wanted)


def _until_end(content: str) -> str:
    end = content.removesuffix("\n")
    if not (end == EOF or end.endswith("\n" + EOF)):
        raise ParseError(f"the end mark {EOF} is missing")
    return end.removesuffix(EOF)
