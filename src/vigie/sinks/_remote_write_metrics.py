"""What remote write says of itself, for the agent's /metrics."""

from __future__ import annotations

from vigie.model import Table, counter, gauge
from vigie.model.table import Series
from vigie.sinks.remote_write import RemoteWrite

METRICS = (
    SENT := counter("vigie_remote_write_samples_sent_total", "Samples that the peer took."),
    FAILURES := counter("vigie_remote_write_failures_total", "Requests that failed and are tried again."),
    QUEUE := gauge("vigie_remote_write_queue_bytes", "What waits on disk to be sent."),
    OLDEST := gauge("vigie_remote_write_queue_oldest_seconds", "For how long the oldest of it has waited."),
    DROPPED := counter(
        "vigie_remote_write_samples_dropped_total",
        "Samples that the peer refused or for which the queue had no room.",
        "reason",
    ),
)


class RemoteWriteTable:
    """Makes the table; a reason has a series from the first sample that is dropped for it."""

    def __init__(self, sink: RemoteWrite) -> None:
        self._sink = sink
        self._table = Table("remote_write", 0, ())

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        """Return the table as of now."""
        state = self._sink.state()
        reasons = sorted(state.dropped)
        series: tuple[Series, ...] = ((SENT, ()), (FAILURES, ()), (QUEUE, ()), (OLDEST, ()))
        series += tuple((DROPPED, (reason,)) for reason in reasons)
        if series != self._table.series:
            self._table = Table("remote_write", self._table.version + 1, series)
        numbers = (state.sent, state.failures, state.queue_bytes, round(state.oldest_seconds, 3))
        return self._table, (*numbers, *(state.dropped[reason] for reason in reasons))
