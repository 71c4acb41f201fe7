"""Frames as series of remote write: target labels added, and a stale marker where a series ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vigie.model import STALE, Frame, Table, is_absent
from vigie.sinks._batch import Batch
from vigie.sinks._labels import NAME, label_section
from vigie.sinks._template import Template

JOB = "node"


class _Part:
    """A table of a node: its series as they stand on the wire, and which of them have no value now."""

    def __init__(self, table: Table, template: Template, twice: set[int], newest: int) -> None:
        self.table, self.template, self.newest = table, template, newest
        self.twice = twice  # series that the node has already
        self.silent: set[int] = set(range(len(template)))

    def alive(self) -> Iterator[bytes]:
        """Yield the series that have a value."""
        for place, section in enumerate(self.template.sections()):
            if place not in self.silent:
                yield section


class FrameSeries:
    """Remembers the tables of each node."""

    def __init__(self, external: Mapping[str, str]) -> None:
        self._external = external
        self._nodes: dict[str, dict[str, _Part]] = {}

    def add(self, frame: Frame, node: str, batch: Batch) -> None:
        """Add a frame's samples, and a stale marker for each series that had a value and has none now."""
        for table, numbers in frame.parts:
            if len(numbers) != len(table.series):
                raise ValueError(
                    f"{len(numbers)} values for the {len(table.series)} series of {table.source}"
                )
            part = self._nodes.setdefault(node, {}).get(table.source)
            if batch.is_late(frame.time_ms, part.newest if part else None):
                known = part.template.sections() if part and part.table is table else None
                _add_late(frame.time_ms, known or self._sections(table, node), numbers, batch)
                continue
            if part is None or part.table is not table or not part.template.fits(frame.time_ms):
                part = self._renewed(part, table, frame.time_ms, node, batch)
            _add(part, frame.time_ms, numbers, batch)

    def end(self, node: str, now: int, batch: Batch) -> None:
        """Forget a node, and end its series that had a value."""
        for part in self._nodes.pop(node, {}).values():
            for section in part.alive():
                batch.add(section, (max(now, part.newest + 1),), (STALE,))

    def nodes(self) -> list[str]:
        """Return the nodes whose frames came."""
        return list(self._nodes)

    def _renewed(self, old: _Part | None, table: Table, time: int, node: str, batch: Batch) -> _Part:
        parts = self._nodes[node]
        parts.pop(table.source, None)
        names = {metric.name for metric, _ in table.series}
        alike = [p for p in parts.values() if any(metric.name in names for metric, _ in p.table.series)]
        known = {section for part in alike for section in part.template.sections()}
        sections, twice = self._sections(table, node), set()
        for place, section in enumerate(sections):
            if section in known:
                twice.add(place)
            known.add(section)
        new = parts[table.source] = _Part(table, Template(sections, time), twice, time)
        if old is not None:
            before = set(old.alive())
            new.silent = {place for place, section in enumerate(sections) if section not in before} | twice
            for section in before.difference(sections):
                batch.add(section, (time,), (STALE,))
        return new

    def _sections(self, table: Table, node: str) -> list[bytes]:
        return [
            label_section(
                target_labels(metric.name, zip(metric.labels, labels, strict=True), node, self._external)
            )
            for metric, labels in table.series
        ]


def _add(part: _Part, time: int, numbers: Sequence[float], batch: Batch) -> None:
    part.newest = time
    silent = part.twice
    if math.isnan(sum(numbers)):  # then some may be absent
        silent = silent.union(i for i, value in enumerate(numbers) if value != value and is_absent(value))
    ended = silent - part.silent
    if ended:
        numbers = [STALE if place in ended else value for place, value in enumerate(numbers)]
    without = sorted(silent - ended)
    part.silent = silent
    if len(without) < len(numbers):
        batch.add_ready(len(numbers) - len(without), part.template.filled(time, numbers, without), time)


def _add_late(time: int, sections: Iterable[bytes], numbers: Sequence[float], batch: Batch) -> None:
    for section, value in zip(sections, numbers, strict=True):
        if not is_absent(value):
            batch.add_late(section, time, value)


def target_labels(
    name: str, pairs: Iterator[tuple[str, str]], node: str, external: Mapping[str, str]
) -> dict[str, str]:
    """Return a series' labels under its target's; its own job or instance becomes exported_*."""
    labels = {NAME: name, "instance": node, "job": JOB}
    for label, value in pairs:
        if value:
            labels[f"exported_{label}" if label in ("instance", "job") else label] = value
    return {**external, **labels}
