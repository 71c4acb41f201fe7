"""Series under another exporter's names, derived from ours by a table of rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vigie.agent.source_reader import SourceReader
from vigie.model import ABSENT, Metric, Table, gauge, is_absent
from vigie.model.table import TableValues

NODE = "node"  # the resource that stands for the whole machine
NOBODY = ("None",)  # how Moneo says that no job runs
MAX_JOBS = 16  # of one device: each has its copy of the device's series
SHORTEST = 0.9  # seconds between two reads from which a rate is taken

Labels = Mapping[str, str]
Jobs = Callable[[], Mapping[str, Sequence[str]]]  # the jobs that hold each resource now


class Alias(NamedTuple):
    """One row: a name of theirs, and how it comes from a series of ours.

    Label values are patterns over our labels, such as "{device}:{port}"; `job_id` is filled in from who
    holds the `device`. Series of ours that give the same one of theirs are added up.
    """

    name: str
    help: str
    ours: str
    labels: Mapping[str, str] = {}
    device: str = NODE
    factor: float = 1
    offset: float = 0
    rate: bool = False  # per second, of a counter
    equals: float | None = None  # 1 where the value is this, else 0
    divided_by: str = ""  # a metric of the same source, without labels
    only: Mapping[str, str] = {}  # labels of ours, each with what it has to match
    joined: tuple[str, str] = ("", "")  # an info metric whose labels are known too, and the label to join on


class _Term(NamedTuple):
    """Where a number of ours stands: which source, and its place in the table."""

    reader: int
    place: int
    divisor: int | None


class _Row(NamedTuple):
    alias: Alias
    terms: list[_Term]


class _Reading:
    """The numbers of a source now, and two reads far enough apart for a rate."""

    def __init__(self, reader: SourceReader) -> None:
        self._reader = reader
        self._at = float("-inf")
        self._reset(reader.values)

    def _reset(self, values: TableValues) -> None:
        self.table, self.latest = values.table, values.numbers
        self.numbers: tuple[float, ...] = ()
        self.before: tuple[float, ...] = ()
        self.seconds = 0.0

    def look(self) -> None:
        """Take what was read since; reads that follow each other too soon leave the rate as it is."""
        values, at = self._reader.values, self._reader.read_at
        if values.table is not self.table:
            self._reset(values)
        self.latest = values.numbers
        if not self.numbers:
            self.numbers, self._at = values.numbers, at
        elif at - self._at >= SHORTEST:
            self.before, self.seconds = self.numbers, at - self._at
            self.numbers, self._at = values.numbers, at


class AliasTable:
    """Makes the table of one dialect; its layout is made anew when a source's table or a job changes."""

    def __init__(
        self, name: str, aliases: Sequence[Alias], readers: Sequence[SourceReader], jobs: Jobs
    ) -> None:
        self._readings = [_Reading(reader) for reader in readers]
        self._aliases: dict[str, list[Alias]] = defaultdict(list)
        for alias in aliases:
            self._aliases[alias.ours].append(alias)
        self._jobs = jobs
        self._known: tuple[object, ...] = ()
        self._rows: list[_Row] = []
        self._table = Table(name, 0, ())

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return what the sources last gave, under the other names."""
        jobs = self._jobs()
        for reading in self._readings:
            reading.look()
        known = (
            *(reading.table for reading in self._readings),
            tuple((k, tuple(v)) for k, v in jobs.items()),
        )
        if known != self._known:
            self._known = known
            self._lay_out(jobs)
        return self._table, tuple([self._value(row) for row in self._rows])

    def _lay_out(self, jobs: Mapping[str, Sequence[str]]) -> None:
        rows: dict[tuple[Metric, tuple[str, ...]], _Row] = {}
        for term, alias, labels in self._matches():
            for job in find_jobs(jobs, alias.device.format_map(labels)):
                values = {name: text.format_map(labels) for name, text in alias.labels.items()}
                metric = gauge(alias.name, alias.help, "job_id", *values)
                rows.setdefault((metric, (job, *values.values())), _Row(alias, [])).terms.append(term)
        ordered = sorted(rows.items(), key=lambda item: item[0][0].name)
        self._rows = [row for _, row in ordered]
        series = tuple(key for key, _ in ordered)
        if series != self._table.series:
            self._table = Table(self._table.source, self._table.version + 1, series)

    def _matches(self) -> Iterator[tuple[_Term, Alias, Labels]]:
        joins = self._joins()
        for number, reading in enumerate(self._readings):
            places = {metric.name: place for place, (metric, _) in enumerate(reading.table.series)}
            for place, (metric, values) in enumerate(reading.table.series):
                for alias in self._aliases.get(metric.name, ()):
                    labels = _Blank(zip(metric.labels, values, strict=True))
                    if labels["GPU_I_ID"]:  # an instance of MIG
                        labels["gpu"] = f"{labels['gpu']}.{labels['GPU_I_ID']}"
                    labels.update(joins.get((*alias.joined, labels[alias.joined[1]]), {}))
                    if all(re.search(text, labels[name]) for name, text in alias.only.items()):
                        yield _Term(number, place, places.get(alias.divided_by)), alias, labels

    def _joins(self) -> dict[tuple[str, str, str], dict[str, str]]:
        wanted = {alias.joined for aliases in self._aliases.values() for alias in aliases if alias.joined[0]}
        found = {}
        for reading in self._readings:
            for metric, values in reading.table.series:
                for name, key in wanted:
                    if metric.name == name:
                        labels = dict(zip(metric.labels, values, strict=True))
                        found[name, key, labels[key]] = labels
        return found

    def _value(self, row: _Row) -> float:
        alias = row.alias
        total = 0.0
        for term in row.terms:
            value = self._number(alias, term)
            if is_absent(value):
                return ABSENT
            total += value
        if alias.equals is not None:
            return float(total == alias.equals)
        return total * alias.factor + alias.offset

    def _number(self, alias: Alias, term: _Term) -> float:
        reading = self._readings[term.reader]
        if alias.rate:
            if not reading.before:
                return ABSENT
            grown = reading.numbers[term.place] - reading.before[term.place]
            return grown / reading.seconds if grown >= 0 else ABSENT
        value = reading.latest[term.place]
        if alias.divided_by:
            divisor = reading.latest[term.divisor] if term.divisor is not None else 0
            return value / divisor if divisor else ABSENT
        return value


class _Blank(dict[str, str]):
    """Labels, of which those that a series does not have are empty."""

    def __missing__(self, name: str) -> str:
        return ""


def find_jobs(jobs: Mapping[str, Sequence[str]], device: str) -> Sequence[str]:
    """Return the jobs on a device; without any, those that hold the machine; for the machine, all."""
    if device == NODE:
        found: Sequence[str] = sorted({job for held in jobs.values() for job in held})
    else:
        found = jobs.get(device) or jobs.get(device.partition(".")[0]) or jobs.get(NODE, ())
    return tuple(found)[:MAX_JOBS] or NOBODY
