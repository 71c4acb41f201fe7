"""Metrics of remote write out."""

from __future__ import annotations

from vigie.model import counter, gauge

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
