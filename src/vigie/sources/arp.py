"""Neighbours known by their hardware address, from /proc/net/arp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (ENTRIES := gauge("node_arp_entries", "Entries of the ARP table, by interface.", "device"),)

DEVICE = 5
COLUMNS = 6


def read(host: Host) -> Iterator[Sample]:
    """Yield how many entries each interface has; one with none has no line to be counted."""
    devices: Counter[str] = Counter()
    for line in filter(None, host.proc.read("net/arp").split("\n")[1:]):
        words = line.split()
        if len(words) == COLUMNS:
            devices[words[DEVICE]] += 1
        else:
            host.note("/proc/net/arp", f"a line of {len(words)} columns instead of {COLUMNS}")
    for device, entries in devices.items():
        yield ENTRIES, (device,), entries


SOURCE = Source("arp", METRICS, read)
