"""Metrics of the links."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.agent.link.client import LinkClient
from vigie.model import Table, counter, gauge

METRICS = (
    gauge("vigie_agent_link_connected", "1 while connected to the server.", "server"),
    counter(
        "vigie_agent_link_connections_total", "Connections to the server since the agent started.", "server"
    ),
    counter("vigie_agent_link_sent_total", "Frames and events sent, including those sent again.", "server"),
    counter("vigie_agent_link_acknowledged_total", "Frames and events that the server has synced.", "server"),
    counter("vigie_agent_link_refused_total", "Frames and events that the server rejected.", "server"),
    counter(
        "vigie_agent_link_dropped_total", "Frames and events dropped because the buffer was full.", "server"
    ),
    gauge("vigie_agent_link_waiting_bytes", "Memory used by unacknowledged frames and events.", "server"),
    gauge("vigie_agent_link_waiting_disk_bytes", "Disk space used by buffered frames and events.", "server"),
)


class LinkTable:
    def __init__(self, links: Sequence[LinkClient]) -> None:
        self._links = links
        self._table = Table("link", 1, tuple((metric, (link.url,)) for metric in METRICS for link in links))

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        """Return the current values."""
        rows = [_read_values(link) for link in self._links]
        return self._table, tuple(row[place] for place in range(len(METRICS)) for row in rows)


def _read_values(link: LinkClient) -> tuple[float, ...]:
    counts, buffer = link.counters, link.buffer
    return (
        int(counts.connected),
        counts.connections,
        counts.sent,
        counts.acknowledged,
        counts.refused,
        buffer.dropped,
        buffer.bytes,
        buffer.disk_bytes,
    )
