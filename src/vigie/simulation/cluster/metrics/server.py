"""Metrics of the server of the simulated cluster."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vigie.model import Metric, Table
from vigie.server import metrics
from vigie.server.http import request_log
from vigie.simulation.cluster.metrics.columns import Column, CounterColumns, find_metric, gauge, rate
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import MINUTE, Scenario

TARGET = {"instance": "vigie", "job": "vigie"}
TICK = 15.0  # seconds between two frames of a node
BYTES_PER_SAMPLE = 1.3
PAGES = 2.0  # open pages, each with a query every ten seconds
METRICS: tuple[Metric, ...] = (
    *metrics.METRICS,
    *request_log.METRICS,
    *metrics.AUTH_METRICS,
    *metrics.QUEUE_METRICS,
    *metrics.LINK_METRICS,
    *metrics.SCRAPE_METRICS,
)


def build_server_period(
    scenario: Scenario, series: int, links: Numbers, times: Times
) -> tuple[Table, Numbers]:
    columns = list(_columns(scenario, series, links, times))
    values = CounterColumns().accumulate(times, columns)
    known = {metric.name: metric for metric in METRICS}
    rows = [(known.get(one.name) or find_metric(one.name, len(one.labels)), one.labels) for one in columns]
    return Table("server", 1, tuple(rows)), np.column_stack(values)


def _columns(scenario: Scenario, series: int, links: Numbers, times: Times) -> Iterator[Column]:
    one = np.ones(len(times))
    yield gauge("vigie_server_links", links)
    yield gauge("vigie_server_series", one * series)
    samples = series * links / max(float(links.max()), 1) / TICK
    yield rate("vigie_server_link_frames_total", links / TICK)
    yield rate("vigie_server_link_samples_total", samples)
    yield rate("vigie_server_link_events_total", one / 600)
    yield rate("vigie_server_link_bindings_total", one / 900)
    yield rate("vigie_server_link_refused_total", one * 0)
    yield from _store_columns(samples, times)
    yield from _idle(one)
    yield from _query_columns(
        one * PAGES * (0.6 + 0.8 * scenario.noise.smooth("server/pages", times, 30 * MINUTE))
    )
    yield rate("process_cpu_seconds_total", 0.02 + samples * 2e-6)
    yield gauge("process_resident_memory_bytes", one * 150e6 + 900.0 * series)
    yield gauge("process_open_fds", 40 + links)


def _store_columns(samples: Numbers, times: Times) -> Iterator[Column]:
    """Yield the store's metrics: its log is flushed to blocks every two hours."""
    seconds = (times - times[0]) / 1000.0
    since = seconds % 7200
    yield gauge(
        "vigie_server_store_bytes", np.round(samples * (seconds - since) * BYTES_PER_SAMPLE), "blocks"
    )
    yield gauge("vigie_server_store_bytes", np.round(samples * since * BYTES_PER_SAMPLE * 2), "log")
    yield gauge("vigie_server_store_damages", samples * 0)


def _idle(one: Numbers) -> Iterator[Column]:
    """Yield what is unused: exporters, remote write and failed sign-ins."""
    for name in ("samples", "writes_refused", "scraped_samples", "scrapes_failed"):
        yield rate(f"vigie_server_{name}_total", one * 0)
    for health in ("up", "down", "unknown"):
        yield gauge("vigie_server_targets", one * 0, health)
    for queue in ("questions", "writes", "links"):
        yield gauge("vigie_server_waiting", one * 0, queue)
    for way in metrics.WAYS:
        yield rate("vigie_server_sign_ins_failed_total", one * 0, way)


def _query_columns(pages: Numbers) -> Iterator[Column]:
    for kind, share, seconds in (
        ("query", 0.3, 0.004),
        ("query_range", 0.8, 0.02),
        ("label_values", 0.05, 0.002),
    ):
        yield rate("vigie_server_queries_total", pages * share, kind)
        yield rate("vigie_server_queries_failed_total", pages * 0, kind)
        yield rate("vigie_server_query_seconds_total", pages * share * seconds, kind)
    for route, share, size in (("/api/v1/query_range", 0.8, 9e3), ("/api/pages/cluster", 0.1, 3e4)):
        yield rate("vigie_server_requests_total", pages * share, route, "200")
        yield rate("vigie_server_sent_bytes_total", pages * share * size, route)
    yield gauge("vigie_server_connections", np.round(pages * 2))
    yield gauge("vigie_server_requests_running", np.round(pages))
