"""Free memory by size of block, from /proc/buddyinfo: how broken up it is."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources._attributes import parse_counters
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import to_printable

METRICS = (
    BLOCKS := gauge(
        "node_buddyinfo_blocks",
        "Free blocks of 2^size pages, by NUMA node and zone.",
        *("node", "zone", "size"),
    ),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield each zone's free blocks by size."""
    for line in host.proc.read("buddyinfo").splitlines():
        words = line.split()
        if len(words) < 5 or words[0] != "Node" or words[2] != "zone":
            host.note("/proc/buddyinfo", f"not a zone: {line[:32]!r}")
            continue
        node, zone = words[1].rstrip(","), to_printable(words[3])
        try:
            counts = parse_counters(words[4:])
        except ValueError as error:
            host.note(f"/proc/buddyinfo {zone}", error)
            continue
        for size, count in enumerate(counts):
            yield BLOCKS, (to_printable(node), zone, str(size)), count


SOURCE = Source("buddyinfo", METRICS, read, default=False)
