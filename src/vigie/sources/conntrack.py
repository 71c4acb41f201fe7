"""Connection tracking, from /proc/sys/net/netfilter and /proc/net/stat/nf_conntrack."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import parse_number

METRICS = (
    ENTRIES := gauge("node_nf_conntrack_entries", "Tracked connections."),
    LIMIT := gauge("node_nf_conntrack_entries_limit", "Maximum number of tracked connections."),
    gauge("node_nf_conntrack_stat_found", "Lookups that found a connection."),
    gauge("node_nf_conntrack_stat_invalid", "Packets that cannot be tracked."),
    gauge("node_nf_conntrack_stat_ignore", "Packets that need no tracking."),
    gauge("node_nf_conntrack_stat_insert", "Connections inserted into the table."),
    gauge("node_nf_conntrack_stat_insert_failed", "Failed insertions into the table."),
    gauge("node_nf_conntrack_stat_drop", "Packets dropped because tracking failed."),
    gauge("node_nf_conntrack_stat_early_drop", "Connections evicted from a full table."),
    gauge("node_nf_conntrack_stat_search_restart", "Lookups restarted because the table was resized."),
)

PREFIX = "node_nf_conntrack_stat_"
COUNTS = {metric.name[len(PREFIX) :]: metric for metric in METRICS if metric.name.startswith(PREFIX)}
CELL = 4  # bytes
FILL = (
    (ENTRIES, "sys/net/netfilter/nf_conntrack_count"),
    (LIMIT, "sys/net/netfilter/nf_conntrack_max"),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the size of the table, then the counters summed over all CPUs."""
    fill = [(metric, path, host.proc.read_text(path)) for metric, path in FILL]
    counts = host.proc.read_text("net/stat/nf_conntrack")
    if counts is None and not any(text for _, _, text in fill):
        raise Unavailable("no connection tracking, or its files cannot be read")
    for metric, path, text in fill:
        if text is not None:
            value = parse_number(text)
            if value is None:
                host.note(f"/proc/{path}", f"not a number: {text!r}")
            yield metric, (), value
    if counts:
        yield from _sum_counters(host, counts)


def _sum_counters(host: Host, text: str) -> Iterator[Sample]:
    titles, _, rows = text.partition("\n")
    names = titles.split()
    try:
        # Eight hex digits per cell: with many CPUs, decoding them together is five times as fast.
        data = bytes.fromhex(rows)
        numbers = struct.unpack(f">{len(data) // CELL}I", data)
    except (ValueError, struct.error):
        host.note("/proc/net/stat/nf_conntrack", "expected columns of eight hex digits")
        return
    if not numbers or len(numbers) % len(names):
        # A sum without one CPU would look like a counter reset.
        host.note("/proc/net/stat/nf_conntrack", f"expected lines of {len(names)} columns")
        return
    for place, name in enumerate(names):
        if name in COUNTS:
            yield COUNTS[name], (), sum(numbers[place :: len(names)])


SOURCE = Source("conntrack", METRICS, read)
