"""Metrics of the links."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.agent.link.client import LinkClient
from vigie.model import Table
from vigie.wire.agent_series import LINK_METRICS


class LinkTable:
    def __init__(self, links: Sequence[LinkClient]) -> None:
        self._links = links
        self._table = Table(
            "link", 1, tuple((metric, (link.url,)) for metric in LINK_METRICS for link in links)
        )

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        rows = [_read_values(link) for link in self._links]
        return self._table, tuple(row[place] for place in range(len(LINK_METRICS)) for row in rows)


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
