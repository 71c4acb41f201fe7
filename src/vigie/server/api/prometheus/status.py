"""The routes about the server and about metrics: metadata, status, and lists that are empty yet."""

from __future__ import annotations

import asyncio
import os
import platform
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, Protocol, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

import vigie
from vigie.common import process_metrics
from vigie.model import Metric
from vigie.query.errors import BadDataError
from vigie.query.limits import QueryLimits
from vigie.query.matchers import EVERYTHING
from vigie.query.storage import Storage
from vigie.server import metrics
from vigie.server.api.prometheus import json_encoder
from vigie.server.api.prometheus.federate import federate
from vigie.server.api.prometheus.operations import build_routes
from vigie.server.http import request_log
from vigie.server.http.requests import EARLIEST, LATEST, cancel_on_disconnect, read_parameters
from vigie.server.http.responses import make_printable, maybe_gzip, respond, wants_gzip
from vigie.server.http.routes import PROGRAMS
from vigie.server.ingest import link_session
from vigie.server.ingest.metadata import MetricMetadata, families_of, family_of, merge_metadata
from vigie.server.metrics import ServerMetrics
from vigie.server.query_executor import QueryWork, Work
from vigie.server.scrape import appender
from vigie.sinks import remote_write
from vigie.sources.core.registry import load_builtin
from vigie.wire import agent_series, llm_series, triton_series

# What is declared elsewhere than by a source; a later one goes before an earlier one.
MORE_METRICS: tuple[tuple[Metric, ...], ...] = (
    triton_series.METRICS, llm_series.METRICS, remote_write.METRICS,
    agent_series.METRICS,
    process_metrics.METRICS, metrics.METRICS, metrics.QUEUE_METRICS, request_log.METRICS,
    metrics.AUTH_METRICS, metrics.LINK_METRICS, metrics.SCRAPE_METRICS, appender.METRICS,
    link_session.METRICS,
)  # fmt: skip
ANYTHING = "*"  # the name under which a source declares what others write into its files
# Grafana decides by it which paths and functions it may use; ours follow Prometheus 3.5.
PROMETHEUS_VERSION = "3.5.0"
HOUR_MS = 3_600_000
TOP = 10
TEXT = "text/plain; version=0.0.4; charset=utf-8"


def metadata(
    name: str,
    limit: int | None,
    brought: Mapping[str, MetricMetadata],
    gzip: bool,
    storage: Storage,
    _: QueryLimits,
) -> bytes:
    """Return what is known of one metric, or of all, as Prometheus answers it."""
    stored = storage.label_values("__name__", EVERYTHING, EARLIEST, LATEST)
    known = merge_metadata(dict(_expand_patterns(stored)), _declared_metadata(), brought)
    if name:
        known = {name: known[name]} if name in known else {}
    rows = {
        metric: [{"type": kind, "help": text, "unit": unit}] for metric, (kind, text, unit) in known.items()
    }
    return maybe_gzip(json_encoder.document(dict(list(rows.items())[:limit])), gzip)


@cache
def _all() -> tuple[Metric, ...]:
    sources = [metric for source in load_builtin() for metric in source.metrics]
    return (*sources, *(metric for metrics in MORE_METRICS for metric in metrics))


@cache
def _declared_metadata() -> dict[str, MetricMetadata]:
    return families_of(metric for metric in _all() if "*" not in metric.name)


def _expand_patterns(stored: Sequence[str]) -> Iterator[tuple[str, MetricMetadata]]:
    """Yield the stored names that a declaration with a `*` means."""
    for metric in _all():
        if "*" in metric.name and metric.name != ANYTHING:
            for name in filter(metric.matches, stored):
                yield name, family_of(metric._replace(name=name))


@runtime_checkable
class CardinalitySource(Protocol):
    """A storage that can count series without naming them."""

    def label_cardinality(self) -> Counter[tuple[str, str]]:
        """Return how many live series have each label and value."""


class Status:
    def __init__(
        self,
        readers: QueryWork,
        own: ServerMetrics,
        flags: Mapping[str, str],
        retention: str,
        clock: Callable[[], int],
        families: Callable[[], Mapping[str, MetricMetadata]],
    ) -> None:
        self._readers, self._own, self._flags, self._retention = readers, own, flags, retention
        self._clock, self._families = clock, families
        self._started = datetime.now(UTC)

    def routes(self) -> list[BaseRoute]:
        people = {
            "metadata": self.metadata,
            "rules": self.rules,
            "alerts": self.alerts,
            "status/buildinfo": self.build,
        }
        programs = {
            "status/runtimeinfo": self.runtime,
            "status/flags": self.flags,
            "status/config": self.config,
            "status/tsdb": self.tsdb,
            "/federate": self.federate,
        }
        return [*build_routes(people), *build_routes(programs, access=PROGRAMS)]

    async def build(self, request: Request) -> Response:
        """Answer whose features to expect."""
        facts = {
            "version": PROMETHEUS_VERSION,
            "revision": f"vigie-{vigie.__version__}",
            "branch": "",
            "buildUser": "",
            "buildDate": "",
            "goVersion": f"Python {platform.python_version()}",
        }
        return respond(json_encoder.document(facts), request)

    async def runtime(self, request: Request) -> Response:
        """Answer how the process is doing."""
        facts = {
            "startTime": self._started.isoformat(),
            "CWD": os.getcwd(),
            "reloadConfigSuccess": True,
            "lastConfigTime": self._started.isoformat(),
            "corruptionCount": 0,
            "goroutineCount": threading.active_count(),
            "GOMAXPROCS": os.cpu_count(),
            "GOMEMLIMIT": 0,
            "GOGC": "",
            "GODEBUG": "",
            "storageRetention": self._retention,
        }
        return respond(json_encoder.document(facts), request)

    async def flags(self, request: Request) -> Response:
        return respond(json_encoder.document(self._flags), request)

    async def config(self, request: Request) -> Response:
        """Answer that there is no Prometheus configuration."""
        return respond(json_encoder.document({"yaml": ""}), request)

    async def tsdb(self, request: Request) -> Response:
        """Answer which names and labels have the most series, over the newest hour."""
        limit = (await read_parameters(request)).limit() or TOP
        now = self._clock()
        return await self._execute("tsdb", request, partial(_cardinality, now - HOUR_MS, now, limit))

    async def metadata(self, request: Request) -> Response:
        """Answer kind, help and unit of metrics, as declared or as those tell who bring them."""
        parameters = await read_parameters(request)
        parameters.limit("limit_per_metric")  # ours is one for each
        limit, name = parameters.limit(), parameters.one("metric")
        return await self._execute("metadata", request, partial(metadata, name, limit, self._families()))

    async def federate(self, request: Request) -> Response:
        """Answer the newest samples as text."""
        parameters = await read_parameters(request)
        if not parameters.every("match[]"):
            return respond(b"", request, TEXT)
        work = partial(federate, await asyncio.to_thread(parameters.selectors), self._clock())
        return await self._execute("federate", request, work, TEXT)

    async def rules(self, request: Request) -> Response:
        """Answer that there are no rules."""
        kind = (await read_parameters(request)).one("type").lower()
        if kind not in ("", "alert", "record"):
            raise BadDataError(f'invalid parameter "type": not supported value "{kind}"')
        return respond(json_encoder.document({"groups": []}), request)

    async def alerts(self, request: Request) -> Response:
        """Answer that there are no alerts."""
        return respond(json_encoder.document({"alerts": []}), request)

    async def _execute(
        self, kind: str, request: Request, make: Callable[..., bytes], content_type: str = "application/json"
    ) -> Response:
        job: Work = partial(make, wants_gzip(request))
        with self._own.question(kind):
            return respond(await cancel_on_disconnect(request, self._readers.ask(job)), request, content_type)


def _cardinality(start: int, end: int, limit: int, gzip: bool, storage: Storage, _: QueryLimits) -> bytes:
    if isinstance(storage, CardinalitySource):
        pairs = storage.label_cardinality()
    else:
        pairs = Counter(pair for labels in storage.series(EVERYTHING, start, end) for pair in labels.items())
    metrics = {value: count for (name, value), count in pairs.items() if name == "__name__"}
    values = Counter(name for name, _ in pairs)
    size = Counter[str]()
    for name, value in pairs:
        size[name] += len(value)
    facts = {
        "headStats": {
            "numSeries": sum(metrics.values()),
            "numLabelPairs": len(pairs),
            "chunkCount": 0,
            "minTime": start,
            "maxTime": end,
        },
        "seriesCountByMetricName": _top(metrics, limit),
        "labelValueCountByLabelName": _top(values, limit),
        "memoryInBytesByLabelName": _top(size, limit),
        "seriesCountByLabelValuePair": _top(
            {f"{name}={value}": count for (name, value), count in pairs.items()}, limit
        ),
    }
    return maybe_gzip(json_encoder.document(facts), gzip)


def _top(counts: Mapping[str, int], limit: int) -> list[dict[str, Any]]:
    most = Counter(counts).most_common(limit)
    return [{"name": make_printable(name), "value": count} for name, count in most]
