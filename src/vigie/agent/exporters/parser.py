"""Parses an exporter's exposition into a table and values. Unchanged names are not parsed again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from vigie.model import Table
from vigie.model.nan import NAN
from vigie.model.table import Series
from vigie.sources.core.text_format import parse

# Series, value, and an optional timestamp, which is ignored: a scrape has one time.
SAMPLE = re.compile(r"([^{ \t]+(?:[ \t]*\{.*\})?)[ \t]+([^ \t}]+)(?:[ \t]+-?[0-9]+)?[ \t]*")
HELP = "No description."


class RelayedExposition:
    """The series of one exporter, after the relay's own, with the same labels added to all."""

    def __init__(
        self, source: str, before: Sequence[Series], added: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._source, self._added = source, added
        self._own_series = self._add_labels(before)
        self._texts: tuple[str, ...] = ()
        self._order: tuple[int, ...] = ()
        self._version = 0
        self._table = self._next_table(())

    def read(self, text: str) -> tuple[Table, tuple[float, ...]]:
        """Return the table and the exporter's values, or raise ValueError."""
        lines = text.split("\n")
        found = [_split(line) for line in lines if line and line[0] != "#"]
        texts = tuple(series for series, _ in found)
        if texts != self._texts:
            self._build_table(lines)
            self._texts = texts
        values = [_number(value) for _, value in found]
        return self._table, tuple(values[place] for place in self._order)

    def _build_table(self, lines: Sequence[str]) -> None:
        """Order the series by family. The line number replaces each value, to map values later."""
        places = iter(range(len(lines)))
        plain = [
            f"{_split(line)[0]} {next(places)}" if line and line[0] != "#" else line.rstrip("\r")
            for line in lines
        ]
        try:
            families = parse("\n".join(plain).rstrip("\n") + "\n")
        except ValueError as error:  # without its words: they may quote a secret
            raise ValueError(f"{str(error).partition(':')[0]}: invalid exposition") from None
        samples = [sample for family in families.values() for sample in family.samples(HELP)]
        self._order = tuple(int(place or 0) for _, _, place in samples)
        self._table = self._next_table(self._add_labels([(metric, labels) for metric, labels, _ in samples]))

    def _add_labels(self, series: Sequence[Series]) -> tuple[Series, ...]:
        """Add the labels that a series does not have itself."""
        labelled = []
        for metric, labels in series:
            more = {name: value for name, value in self._added.items() if name not in metric.labels}
            labelled.append((metric._replace(labels=(*metric.labels, *more)), (*labels, *more.values())))
        return tuple(labelled) if self._added else tuple(series)

    def _next_table(self, series: Sequence[Series]) -> Table:
        self._version += 1
        return Table(self._source, self._version, (*self._own_series, *series))

    def clear(self) -> Table:
        """Return a table with only the relay's own series."""
        if self._texts:
            self._texts, self._order, self._table = (), (), self._next_table(())
        return self._table


def _split(line: str) -> tuple[str, str]:
    match = SAMPLE.fullmatch(line.rstrip("\r"))
    if match is None:
        raise ValueError("a line is neither a sample nor a comment")
    return match[1], match[2]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a value is not a number") from None
    return value if value == value else NAN
