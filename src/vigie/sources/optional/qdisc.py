"""Queueing disciplines of network interfaces, from netlink."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

METRICS = (
    BYTES := counter("node_qdisc_bytes_total", "Bytes sent.", "device", "kind"),
    PACKETS := counter("node_qdisc_packets_total", "Packets sent.", "device", "kind"),
    DROPS := counter("node_qdisc_drops_total", "Packets dropped.", "device", "kind"),
    REQUEUES := counter("node_qdisc_requeues_total", "Packets put back into the queue.", "device", "kind"),
    OVERLIMITS := counter("node_qdisc_overlimits_total", "Packets held back by a limit.", "device", "kind"),
    LENGTH := gauge("node_qdisc_current_queue_length", "Packets waiting to be sent.", "device", "kind"),
    BACKLOG := gauge("node_qdisc_backlog", "Bytes waiting to be sent.", "device", "kind"),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the root queue of each interface."""
    try:
        queues = host.calls.qdiscs()
    except OSError as error:
        raise Unavailable(f"queueing disciplines not available: {error.strerror or error}") from error
    for queue in queues:
        labels = (to_printable(queue.device), queue.kind)
        yield BYTES, labels, queue.bytes
        yield PACKETS, labels, queue.packets
        yield DROPS, labels, queue.drops
        yield REQUEUES, labels, queue.requeues
        yield OVERLIMITS, labels, queue.overlimits
        yield LENGTH, labels, queue.queue_length
        yield BACKLOG, labels, queue.backlog


SOURCE = Source("qdisc", METRICS, read, default=False)
