"""What the server says of its links on /metrics."""

from __future__ import annotations

from collections.abc import Callable

from vigie.model import Table, counter, gauge
from vigie.server.link.session import Counts

METRICS = (
    gauge("vigie_server_links", "Agents on the line."),
    counter("vigie_server_link_frames_total", "Frames taken from agents."),
    counter("vigie_server_link_samples_total", "Samples taken from agents."),
    counter("vigie_server_link_events_total", "Events taken from agents."),
    counter("vigie_server_link_bindings_total", "Beginnings and ends of bindings taken from agents."),
    counter("vigie_server_link_refused_total", "Frames and events of agents that cannot be stored."),
)


class LinksTable:
    """Makes the table."""

    def __init__(self, counts: Counts, connected: Callable[[], int]) -> None:
        self._counts, self._connected = counts, connected
        self._table = Table("links", 1, tuple((metric, ()) for metric in METRICS))

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        """Return the table as of now."""
        counts = self._counts
        taken = (counts.frames, counts.samples, counts.events, counts.bindings)
        return self._table, (self._connected(), *taken, counts.refused)
