"""Soft interrupts by kind and core, from /proc/softirqs."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter
from vigie.sources._attributes import parse_counters
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import to_printable

METRICS = (
    SERVED := counter(
        "node_softirqs_functions_total", "Soft interrupts that the core served, by kind.", "cpu", "type"
    ),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield each kind's count for each core."""
    header, *lines = host.proc.read("softirqs").splitlines() or [""]
    cpus = [word[3:] for word in header.split() if word.startswith("CPU")]
    for line in lines:
        kind, _, rest = line.partition(":")
        kind = to_printable(kind.strip())
        try:
            counts = parse_counters(rest.split())
            if len(counts) != len(cpus):
                raise ValueError(f"{len(counts)} counts for {len(cpus)} cores")
        except ValueError as error:
            host.note(f"/proc/softirqs {kind}", error)
            continue
        for cpu, count in zip(cpus, counts):
            yield SERVED, (to_printable(cpu), kind), count


SOURCE = Source("softirqs", METRICS, read, default=False)
