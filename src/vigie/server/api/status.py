"""The routes about the server and about metrics: metadata, status, and lists that are empty yet."""

from __future__ import annotations

import os
import platform
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response

import vigie
from vigie.model import Metric
from vigie.query.budget import Limits
from vigie.query.errors import BadData
from vigie.query.storage import Storage
from vigie.server.api import encode
from vigie.server.api.federate import federate
from vigie.server.api.parameters import EARLIEST, LATEST
from vigie.server.api.readers import Work
from vigie.server.api.work import EVERYTHING
from vigie.server.http import Asks, packed, parameters_of, sent, unless_gone, wants_gzip
from vigie.server.own import Own
from vigie.server.scrape.families import Family
from vigie.sources._registry import built_in

# Grafana decides by it which paths and functions it may use; ours follow Prometheus 3.5.
SPEAKS_AS = "3.5.0"
HOUR_MS = 3_600_000
TOP = 10
TEXT = "text/plain; version=0.0.4; charset=utf-8"
KINDS = {"untyped": "unknown"}


@runtime_checkable
class Counts(Protocol):
    """A storage that can count series without naming them."""

    def live_pairs(self) -> Counter[tuple[str, str]]:
        """Return how many live series have each label and value."""


class Status:
    """Answers what the server is and has."""

    def __init__(
        self,
        readers: Asks,
        own: Own,
        flags: Mapping[str, str],
        retention: str,
        clock: Callable[[], int],
        families: Callable[[], Mapping[str, Family]],
    ) -> None:
        self._readers, self._own, self._flags, self._retention = readers, own, flags, retention
        self._clock, self._families = clock, families
        self._started = datetime.now(UTC)

    async def build(self, request: Request) -> Response:
        """Answer whose features to expect."""
        facts = {
            "version": SPEAKS_AS,
            "revision": f"vigie-{vigie.__version__}",
            "branch": "",
            "buildUser": "",
            "buildDate": "",
            "goVersion": f"Python {platform.python_version()}",
        }
        return sent(encode.document(facts), request)

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
        return sent(encode.document(facts), request)

    async def flags(self, request: Request) -> Response:
        """Answer the settings."""
        return sent(encode.document(self._flags), request)

    async def config(self, request: Request) -> Response:
        """Answer that there is no Prometheus configuration."""
        return sent(encode.document({"yaml": ""}), request)

    async def tsdb(self, request: Request) -> Response:
        """Answer which names and labels have the most series, over the newest hour."""
        limit = (await parameters_of(request)).limit() or TOP
        now = self._clock()
        return await self._asked("tsdb", request, partial(_cardinality, now - HOUR_MS, now, limit))

    async def metadata(self, request: Request) -> Response:
        """Answer kind, help and unit of metrics that our sources declare or exporters describe."""
        given = await parameters_of(request)
        given.limit("limit_per_metric")  # ours is one for each
        limit, name = given.limit(), given.one("metric")
        return await self._asked("metadata", request, partial(_metadata, name, limit, self._families()))

    async def federate(self, request: Request) -> Response:
        """Answer the newest samples as text."""
        given = await parameters_of(request)
        if not given.every("match[]"):
            return sent(b"", request, TEXT)
        work = partial(federate, given.selectors(), self._clock())
        return await self._asked("federate", request, work, TEXT)

    async def rules(self, request: Request) -> Response:
        """Answer that there are no rules."""
        kind = (await parameters_of(request)).one("type").lower()
        if kind not in ("", "alert", "record"):
            raise BadData(f'invalid parameter "type": not supported value "{kind}"')
        return sent(encode.document({"groups": []}), request)

    async def alerts(self, request: Request) -> Response:
        """Answer that there are no alerts."""
        return sent(encode.document({"alerts": []}), request)

    async def _asked(
        self, kind: str, request: Request, make: Callable[..., bytes], content_type: str = "application/json"
    ) -> Response:
        job: Work = partial(make, wants_gzip(request))
        with self._own.question(kind):
            return sent(await unless_gone(request, self._readers.ask(job)), request, content_type)


def _metadata(
    name: str,
    limit: int | None,
    foreign: Mapping[str, Family],
    gzip: bool,
    storage: Storage,
    _: Limits,
) -> bytes:
    stored = storage.label_values("__name__", EVERYTHING, EARLIEST, LATEST)
    found = dict(_described([metric for source in built_in() for metric in source.metrics], stored))
    for other, (kind, text, unit) in foreign.items():
        found[other] = [{"type": kind, "help": text, "unit": unit}]
    if name:
        found = {name: found[name]} if name in found else {}
    return packed(encode.document(dict(list(found.items())[:limit])), gzip)


def _described(metrics: Sequence[Metric], stored: Sequence[str]) -> Iterable[tuple[str, Any]]:
    for metric in metrics:
        names = [metric.family]
        if "*" in metric.name:
            names = [name for name in stored if metric.declares(name)]
        for name in names:
            kind = KINDS.get(metric.kind, metric.kind)
            yield name, [{"type": kind, "help": metric.help, "unit": metric.unit}]


def _cardinality(start: int, end: int, limit: int, gzip: bool, storage: Storage, _: Limits) -> bytes:
    if isinstance(storage, Counts):
        pairs = storage.live_pairs()
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
    return packed(encode.document(facts), gzip)


def _top(counts: Mapping[str, int], limit: int) -> list[dict[str, Any]]:
    most = Counter(counts).most_common(limit)
    return [{"name": encode.printable(name), "value": count} for name, count in most]
