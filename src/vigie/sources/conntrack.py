"""The firewall's table of connections, from /proc/sys/net/netfilter and /proc/net/stat/nf_conntrack."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import parse_number

METRICS = (
    ENTRIES := gauge("node_nf_conntrack_entries", "Connections now in the table."),
    LIMIT := gauge("node_nf_conntrack_entries_limit", "Connections that the table may hold."),
    gauge("node_nf_conntrack_stat_found", "Lookups that found their connection."),
    gauge("node_nf_conntrack_stat_invalid", "Packets that belong to no connection that could be tracked."),
    gauge("node_nf_conntrack_stat_ignore", "Packets that were not looked up, as they needed no tracking."),
    gauge("node_nf_conntrack_stat_insert", "Connections put into the table."),
    gauge("node_nf_conntrack_stat_insert_failed", "Connections that could not be put into the table."),
    gauge("node_nf_conntrack_stat_drop", "Packets lost because their connection could not be tracked."),
    gauge("node_nf_conntrack_stat_early_drop", "Connections thrown out of a full table for newer ones."),
    gauge("node_nf_conntrack_stat_search_restart", "Lookups begun again as the table was being resized."),
)

PREFIX = "node_nf_conntrack_stat_"
COUNTS = {metric.name[len(PREFIX) :]: metric for metric in METRICS if metric.name.startswith(PREFIX)}
CELL = 4  # bytes
FILL = (
    (ENTRIES, "sys/net/netfilter/nf_conntrack_count"),
    (LIMIT, "sys/net/netfilter/nf_conntrack_max"),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the table's fill, then what every processor counted, added up."""
    fill = [(metric, path, host.proc.read_text(path)) for metric, path in FILL]
    counts = host.proc.read_text("net/stat/nf_conntrack")
    if counts is None and not any(text for _, _, text in fill):
        raise Unavailable("connections are not tracked on this machine, or nothing of it can be read")
    for metric, path, text in fill:
        if text is not None:
            value = parse_number(text)
            if value is None:
                host.note(f"/proc/{path}", f"not a number: {text!r}")
            yield metric, (), value
    if counts:
        yield from _totals(host, counts)


def _totals(host: Host, text: str) -> Iterator[Sample]:
    titles, _, rows = text.partition("\n")
    names = titles.split()
    try:
        # Eight digits a cell: with many processors, taking them all at once is five times as quick.
        data = bytes.fromhex(rows)
        numbers = struct.unpack(f">{len(data) // CELL}I", data)
    except (ValueError, struct.error):
        host.note("/proc/net/stat/nf_conntrack", "not all cells are hexadecimal numbers of eight digits")
        return
    if not numbers or len(numbers) % len(names):
        # A total that leaves a processor out would look as if the counters had been reset.
        host.note("/proc/net/stat/nf_conntrack", f"not lines of {len(names)} columns each")
        return
    for place, name in enumerate(names):
        if name in COUNTS:
            yield COUNTS[name], (), sum(numbers[place :: len(names)])


SOURCE = Source("conntrack", METRICS, read)
