"""Frames as series of remote write: target labels added, and a stale marker where a series ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vigie.model import STALE, Frame, Table, is_absent
from vigie.sinks._remote_write.batch import SampleBatch
from vigie.sinks._remote_write.template import SeriesTemplate
from vigie.wire.remote_write.labels import NAME, encode_labels

JOB = "node"
Target = Mapping[str, str]  # the labels that every series of a target has
_Key = tuple[tuple[str, str], ...]


class _Part:
    """A table of a target: its series as they stand on the wire, and which of them have no value now."""

    def __init__(self, table: Table, template: SeriesTemplate, twice: set[int], newest: int) -> None:
        self.table, self.template, self.newest = table, template, newest
        self.twice = twice  # series that the target has already
        self.silent: set[int] = set(range(len(template)))

    def alive(self) -> Iterator[bytes]:
        """Yield the series that have a value."""
        for place, section in enumerate(self.template.sections()):
            if place not in self.silent:
                yield section


class FrameSeries:
    """Remembers the tables of each target."""

    def __init__(self, external: Mapping[str, str]) -> None:
        self._external = external
        self._targets: dict[_Key, dict[str, _Part]] = {}

    def add(self, frame: Frame, target: Target, batch: SampleBatch) -> None:
        """Add a frame's samples, and a stale marker for each series that had a value and has none now."""
        parts = self._targets.setdefault(_key(target), {})
        for table, numbers in frame.parts:
            if len(numbers) != len(table.series):
                raise ValueError(
                    f"{len(numbers)} values for the {len(table.series)} series of {table.source}"
                )
            part = parts.get(table.source)
            if batch.is_late(frame.time_ms, part.newest if part else None):
                known = part.template.sections() if part and part.table is table else None
                _add_late(frame.time_ms, known or self._sections(table, target), numbers, batch)
                continue
            if part is None or part.table is not table or not part.template.fits(frame.time_ms):
                part = self._renewed(part, table, frame.time_ms, target, batch)
            _add(part, frame.time_ms, numbers, batch)
        if all(len(part.silent) == len(part.template) for part in parts.values()):
            del self._targets[_key(target)]  # everything has ended: it may never come again

    def end(self, target: Target, now: int, batch: SampleBatch) -> None:
        """Forget a target, and end its series that had a value."""
        for part in self._targets.pop(_key(target), {}).values():
            for section in part.alive():
                batch.add(section, (max(now, part.newest + 1),), (STALE,))

    def targets(self) -> list[Target]:
        return [dict(key) for key in self._targets]

    def _renewed(
        self, old: _Part | None, table: Table, time: int, target: Target, batch: SampleBatch
    ) -> _Part:
        parts = self._targets[_key(target)]
        parts.pop(table.source, None)
        names = {metric.name for metric, _ in table.series}
        alike = [p for p in parts.values() if any(metric.name in names for metric, _ in p.table.series)]
        known = {section for part in alike for section in part.template.sections()}
        sections, twice = self._sections(table, target), set()
        for place, section in enumerate(sections):
            if section in known:
                twice.add(place)
            known.add(section)
        new = parts[table.source] = _Part(table, SeriesTemplate(sections, time), twice, time)
        if old is not None:
            before = set(old.alive())
            new.silent = {place for place, section in enumerate(sections) if section not in before} | twice
            for section in before.difference(sections):
                batch.add(section, (time,), (STALE,))
        return new

    def _sections(self, table: Table, target: Target) -> list[bytes]:
        return [
            encode_labels(
                target_labels(metric.name, zip(metric.labels, labels, strict=True), target, self._external)
            )
            for metric, labels in table.series
        ]


def _add(part: _Part, time: int, numbers: Sequence[float], batch: SampleBatch) -> None:
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


def _add_late(time: int, sections: Iterable[bytes], numbers: Sequence[float], batch: SampleBatch) -> None:
    for section, value in zip(sections, numbers, strict=True):
        if not is_absent(value):
            batch.add_late(section, time, value)


def target_labels(
    name: str, pairs: Iterator[tuple[str, str]], target: Target, external: Mapping[str, str]
) -> dict[str, str]:
    """Return a series' labels under its target's; its own of the same name become exported_*."""
    own = {label: value for label, value in pairs if value}
    labels = {NAME: name, **target, **{label: own[label] for label in own if label not in target}}
    for label in sorted(own.keys() & target.keys()):
        exported = f"exported_{label}"
        while exported in labels:
            exported = f"exported_{exported}"
        labels[exported] = own[label]
    return {**external, **labels}


def target_of(node: str) -> Target:
    """Return the labels of a node's own series."""
    return {"instance": node, "job": JOB}


def _key(target: Target) -> _Key:
    return tuple(sorted(target.items()))
