"""The routes about the server and about metrics: metadata, status, and lists that are empty yet."""

from __future__ import annotations

import asyncio
import os
import platform
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response

import vigie
from vigie.query.budget import Limits
from vigie.query.errors import BadData
from vigie.query.storage import Storage
from vigie.server.api import encode
from vigie.server.api.federate import federate
from vigie.server.api.metadata import metadata
from vigie.server.api.readers import Work
from vigie.server.api.work import EVERYTHING
from vigie.server.http import Asks, packed, parameters_of, sent, unless_gone, wants_gzip
from vigie.server.own import Own
from vigie.server.scrape.families import Family

# Grafana decides by it which paths and functions it may use; ours follow Prometheus 3.5.
SPEAKS_AS = "3.5.0"
HOUR_MS = 3_600_000
TOP = 10
TEXT = "text/plain; version=0.0.4; charset=utf-8"


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
        """Answer kind, help and unit of metrics, as declared or as those tell who bring them."""
        given = await parameters_of(request)
        given.limit("limit_per_metric")  # ours is one for each
        limit, name = given.limit(), given.one("metric")
        return await self._asked("metadata", request, partial(metadata, name, limit, self._families()))

    async def federate(self, request: Request) -> Response:
        """Answer the newest samples as text."""
        given = await parameters_of(request)
        if not given.every("match[]"):
            return sent(b"", request, TEXT)
        work = partial(federate, await asyncio.to_thread(given.selectors), self._clock())
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
