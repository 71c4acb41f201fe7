"""Sockets and their memory, from /proc/net/sockstat and sockstat6."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    gauge("node_sockstat_sockets_used", "Open sockets of all families."),
    gauge("node_sockstat_TCP_inuse", "TCP sockets over IPv4 in use."),
    gauge("node_sockstat_TCP_orphan", "Orphaned TCP sockets."),
    gauge("node_sockstat_TCP_tw", "TCP sockets in TIME_WAIT."),
    gauge("node_sockstat_TCP_alloc", "Allocated TCP sockets."),
    gauge("node_sockstat_TCP_mem", "Memory of TCP sockets, in pages."),
    gauge("node_sockstat_TCP_mem_bytes", "Memory of TCP sockets, in bytes."),
    gauge("node_sockstat_UDP_inuse", "UDP sockets over IPv4."),
    gauge("node_sockstat_UDP_mem", "Memory of UDP sockets, in pages."),
    gauge("node_sockstat_UDP_mem_bytes", "Memory of UDP sockets, in bytes."),
    gauge("node_sockstat_UDPLITE_inuse", "UDP-Lite sockets over IPv4."),
    gauge("node_sockstat_RAW_inuse", "Raw sockets over IPv4."),
    gauge("node_sockstat_FRAG_inuse", "IPv4 packets in reassembly."),
    gauge("node_sockstat_FRAG_memory", "Memory of IPv4 packets in reassembly, in bytes."),
    gauge("node_sockstat_TCP6_inuse", "TCP sockets over IPv6 in use."),
    gauge("node_sockstat_UDP6_inuse", "UDP sockets over IPv6."),
    gauge("node_sockstat_UDPLITE6_inuse", "UDP-Lite sockets over IPv6."),
    gauge("node_sockstat_RAW6_inuse", "Raw sockets over IPv6."),
    gauge("node_sockstat_FRAG6_inuse", "IPv6 packets in reassembly."),
    gauge("node_sockstat_FRAG6_memory", "Memory of IPv6 packets in reassembly, in bytes."),
)

PREFIX = "node_sockstat_"
BY_FIELD = {metric.name[len(PREFIX) :]: metric for metric in METRICS}


def read(host: Host) -> Iterator[Sample]:
    """Yield every known field. A kernel without IPv6 has no second file."""
    text = host.proc.read("net/sockstat") + (host.proc.read_text("net/sockstat6") or "")
    for line in text.split("\n"):
        protocol, _, rest = line.partition(": ")
        words = rest.split()
        for field, figure in zip(words[::2], words[1::2]):
            name = f"{protocol}_{field}"
            if name not in BY_FIELD:
                continue
            try:
                number = int(figure)
            except ValueError as error:
                host.note(f"/proc/net/sockstat {protocol} {field}", error)
                continue
            yield BY_FIELD[name], (), number
            if field == "mem":
                yield BY_FIELD[name + "_bytes"], (), number * host.calls.page_size


SOURCE = Source("sockstat", METRICS, read)
