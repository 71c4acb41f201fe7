"""The kernel's random number pool, from /proc/sys/kernel/random."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import parse_number

METRICS = (
    AVAILABLE := gauge("node_entropy_available_bits", "Randomness in the kernel's pool."),
    SIZE := gauge("node_entropy_pool_size_bits", "Most randomness that the kernel's pool holds."),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield how full the pool is, and its size."""
    yield AVAILABLE, (), parse_number(host.proc.read("sys/kernel/random/entropy_avail"))
    yield SIZE, (), host.proc.read_number("sys/kernel/random/poolsize")


SOURCE = Source("entropy", METRICS, read)
