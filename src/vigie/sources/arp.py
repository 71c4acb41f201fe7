"""ARP entries, from /proc/net/arp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (ENTRIES := gauge("node_arp_entries", "ARP entries by interface.", "device"),)

DEVICE = 5
COLUMNS = 6


def read(host: Host) -> Iterator[Sample]:
    """Yield the entries per interface. Interfaces without entries are not listed."""
    devices: Counter[str] = Counter()
    for line in filter(None, host.proc.read("net/arp").split("\n")[1:]):
        words = line.split()
        if len(words) == COLUMNS:
            devices[words[DEVICE]] += 1
        else:
            host.note("/proc/net/arp", f"{len(words)} columns, expected {COLUMNS}")
    for device, entries in devices.items():
        yield ENTRIES, (device,), entries


SOURCE = Source("arp", METRICS, read)
