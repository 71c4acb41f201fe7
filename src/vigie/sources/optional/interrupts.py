"""Interrupts by source and CPU, from /proc/interrupts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from vigie.model import Sample, counter
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    INTERRUPTS := counter("node_interrupts_total", "Interrupts handled.", "cpu", "type", "info", "devices"),
)

# Text after the numbers of a row, and label values by CPU.
Row = tuple[str, list[tuple[str, str, str, str]]]


def read(host: Host) -> Iterator[Sample]:
    """Yield the counters of each row and CPU. Rows without CPUs, such as ERR, are omitted."""
    header, *lines = host.proc.read("interrupts").splitlines() or [""]
    cpus = [name[3:] for name in header.split() if name.startswith("CPU")]
    known: dict[str, Row] = host.cache.get("rows", {}) if host.cache.get("cpus") == cpus else {}
    rows: dict[str, Row] = {}
    for line in lines:
        name, _, rest = line.partition(":")
        name = name.strip()
        words = rest.split(None, len(cpus))
        if not name or len(words) <= len(cpus):
            continue
        what = words.pop()
        try:
            counts = list(map(int, words))
        except ValueError as error:
            host.note(f"/proc/interrupts {name}", error)
            continue
        row = known.get(name)
        if row is None or row[0] != what:
            row = what, _build_labels(cpus, name, what)
        rows[name] = row
        yield from zip(repeat(INTERRUPTS), row[1], counts)
    host.cache.update(cpus=cpus, rows=rows)


def _build_labels(cpus: list[str], name: str, what: str) -> list[tuple[str, str, str, str]]:
    info, *devices = what.split() if name.isdigit() else [" ".join(what.split())]
    return [(cpu, name, info, " ".join(devices)) for cpu in cpus]


SOURCE = Source("interrupts", METRICS, read, default=False)
