"""Sockets in use and the memory that they hold, from /proc/net/sockstat and sockstat6."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    gauge("node_sockstat_sockets_used", "Sockets of every family now open."),
    gauge("node_sockstat_TCP_inuse", "TCP sockets over IPv4 that are bound, listening or connected."),
    gauge("node_sockstat_TCP_orphan", "TCP sockets that no process holds any more."),
    gauge("node_sockstat_TCP_tw", "TCP connections that wait out their last packets."),
    gauge("node_sockstat_TCP_alloc", "TCP sockets allocated, in whatever state."),
    gauge("node_sockstat_TCP_mem", "Pages that TCP buffers hold."),
    gauge("node_sockstat_TCP_mem_bytes", "Bytes that TCP buffers hold, in whole pages."),
    gauge("node_sockstat_UDP_inuse", "UDP sockets over IPv4."),
    gauge("node_sockstat_UDP_mem", "Pages that UDP buffers hold."),
    gauge("node_sockstat_UDP_mem_bytes", "Bytes that UDP buffers hold, in whole pages."),
    gauge("node_sockstat_UDPLITE_inuse", "UDP-Lite sockets over IPv4."),
    gauge("node_sockstat_RAW_inuse", "Raw sockets over IPv4."),
    gauge("node_sockstat_FRAG_inuse", "IPv4 packets waiting for their missing fragments."),
    gauge("node_sockstat_FRAG_memory", "Bytes held by IPv4 packets waiting for fragments."),
    gauge("node_sockstat_TCP6_inuse", "TCP sockets over IPv6 that are bound, listening or connected."),
    gauge("node_sockstat_UDP6_inuse", "UDP sockets over IPv6."),
    gauge("node_sockstat_UDPLITE6_inuse", "UDP-Lite sockets over IPv6."),
    gauge("node_sockstat_RAW6_inuse", "Raw sockets over IPv6."),
    gauge("node_sockstat_FRAG6_inuse", "IPv6 packets waiting for their missing fragments."),
    gauge("node_sockstat_FRAG6_memory", "Bytes held by IPv6 packets waiting for fragments."),
)

PREFIX = "node_sockstat_"
BY_FIELD = {metric.name[len(PREFIX) :]: metric for metric in METRICS}


def read(host: Host) -> Iterator[Sample]:
    """Yield every known figure; a kernel without IPv6 has no second file."""
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
