"""Frames as series of remote write: target labels added, and a stale marker where a series ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vigie.model import STALE, Frame, Table, is_absent
from vigie.sinks._labels import NAME, label_section

JOB = "node"


class FrameSeries:
    """Remembers each table's series, as they stand on the wire, and which of them had a value last."""

    def __init__(self, external: Mapping[str, str]) -> None:
        self._external = external
        self._tables: dict[tuple[str, str], tuple[Table, list[bytes]]] = {}
        self._alive: dict[tuple[str, str], set[bytes]] = {}

    def samples(self, frame: Frame, node: str) -> Iterator[tuple[bytes, float]]:
        """Yield the frame's samples, and a stale marker for each series that had a value and has none now."""
        for table, numbers in frame.parts:
            key = (node, table.source)
            pairs = zip(self._sections(key, table), numbers, strict=True)
            present = {section: value for section, value in pairs if value == value or not is_absent(value)}
            for section in self._alive.get(key, set()) - present.keys():
                yield section, STALE
            yield from present.items()
            self._alive[key] = set(present)

    def ended(self, node: str) -> list[bytes]:
        """Forget a node, and return its series that had a value."""
        for key in [key for key in self._tables if key[0] == node]:
            del self._tables[key]
        keys = [key for key in self._alive if key[0] == node]
        return [section for key in keys for section in self._alive.pop(key)]

    def nodes(self) -> set[str]:
        """Return the nodes whose frames came."""
        return {node for node, _ in self._alive}

    def _sections(self, key: tuple[str, str], table: Table) -> list[bytes]:
        kept = self._tables.get(key)
        if kept is None or kept[0] is not table:
            sections = [
                label_section(
                    target_labels(
                        metric.name, zip(metric.labels, labels, strict=True), key[0], self._external
                    )
                )
                for metric, labels in table.series
            ]
            kept = self._tables[key] = (table, sections)
        return kept[1]


def target_labels(
    name: str, pairs: Iterator[tuple[str, str]], node: str, external: Mapping[str, str]
) -> dict[str, str]:
    """Return a series' labels under its target's; its own job or instance becomes exported_*."""
    labels = {NAME: name, "instance": node, "job": JOB}
    for label, value in pairs:
        if value:
            labels[f"exported_{label}" if label in ("instance", "job") else label] = value
    return {**external, **labels}
