"""Entropy pool, from /proc/sys/kernel/random."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import parse_number

METRICS = (
    AVAILABLE := gauge("node_entropy_available_bits", "Available entropy in bits."),
    SIZE := gauge("node_entropy_pool_size_bits", "Size of the entropy pool in bits."),
)


def read(host: Host) -> Iterator[Sample]:
    yield AVAILABLE, (), parse_number(host.proc.read("sys/kernel/random/entropy_avail"))
    yield SIZE, (), host.proc.read_number("sys/kernel/random/poolsize")


SOURCE = Source("entropy", METRICS, read)
