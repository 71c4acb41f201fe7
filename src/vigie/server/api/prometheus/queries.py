"""The routes that ask the store: queries, series, labels."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from vigie.query.engine import LOOKBACK_MS, Engine, QueryResult
from vigie.query.errors import BadDataError
from vigie.query.functions.sorting import label_sort_key
from vigie.query.limits import QueryLimits
from vigie.query.matchers import EVERYTHING
from vigie.query.parser.parse import format_query
from vigie.query.storage import Labels, ListableStorage, Matcher, Storage
from vigie.query.vectors import label_set_key
from vigie.server.api.prometheus import json_encoder
from vigie.server.api.prometheus.operations import BOTH, build_routes
from vigie.server.http.requests import (
    EARLIEST,
    LATEST,
    Parameters,
    cancel_on_disconnect,
    label_name,
    merge_sorted,
    read_parameters,
)
from vigie.server.http.responses import Body, join_chunks, maybe_gzip, respond, split_chunks, wants_gzip
from vigie.server.metrics import ServerMetrics
from vigie.server.query_executor import QueryWork, Work


class QueryRequest(NamedTuple):
    """A query and how its answer is wanted; without a step it is asked at its end only."""

    query: str
    start: int
    end: int
    step: int | None = None
    lookback: int | None = None
    limit: int | None = None
    stats: bool = False


class LabelRequest(NamedTuple):
    """A lookup_request-up of labels or series: what fits any of the selectors in a time span."""

    selectors: Sequence[Sequence[Matcher]]
    start: int
    end: int
    limit: int | None = None


def run_query(query_request: QueryRequest, gzip: bool, storage: Storage, limits: QueryLimits) -> Body:
    started = time.perf_counter()
    engine = Engine(storage, limits, lookback=query_request.lookback or LOOKBACK_MS)
    found = _evaluate(engine, query_request)
    elapsed = time.perf_counter() - started
    stats = _stats(engine, elapsed) if query_request.stats else None
    body = split_chunks(json_encoder.result(found, query_request.end, query_request.limit, stats))
    return maybe_gzip(join_chunks(body), gzip) if gzip else body


def series(lookup_request: LabelRequest, gzip: bool, storage: Storage, _: QueryLimits) -> bytes:
    """Return the body with the label sets that fit."""
    found: dict[Any, Labels] = {}
    for matchers in lookup_request.selectors:
        for labels in _series(lookup_request, matchers, storage):
            found.setdefault(label_set_key(labels), labels)
    ordered = sorted(found.values(), key=label_sort_key)
    return maybe_gzip(json_encoder.label_sets(ordered, lookup_request.limit), gzip)


def _series(lookup_request: LabelRequest, matchers: Sequence[Matcher], storage: Storage) -> list[Labels]:
    if lookup_request.limit is not None and isinstance(storage, ListableStorage):
        return storage.first_series(
            matchers, lookup_request.start, lookup_request.end, lookup_request.limit + 1
        )  # one more, to say so
    return storage.series(matchers, lookup_request.start, lookup_request.end)


def label_names(lookup_request: LabelRequest, gzip: bool, storage: Storage, _: QueryLimits) -> bytes:
    return _words(
        lookup_request,
        gzip,
        lambda matchers: storage.label_names(matchers, lookup_request.start, lookup_request.end),
    )


def label_values(
    name: str, lookup_request: LabelRequest, gzip: bool, storage: Storage, _: QueryLimits
) -> bytes:
    return _words(
        lookup_request,
        gzip,
        lambda matchers: storage.label_values(name, matchers, lookup_request.start, lookup_request.end),
    )


def _words(
    lookup_request: LabelRequest, gzip: bool, lookup: Callable[[Sequence[Matcher]], list[str]]
) -> bytes:
    sets = [lookup(matchers) for matchers in lookup_request.selectors or [EVERYTHING]]
    return maybe_gzip(json_encoder.encode_strings(merge_sorted(sets), lookup_request.limit), gzip)


def _evaluate(engine: Engine, query_request: QueryRequest) -> QueryResult:
    if query_request.step is None:
        return engine.instant(query_request.query, query_request.end)
    return engine.range(query_request.query, query_request.start, query_request.end, query_request.step)


def _stats(engine: Engine, seconds: float) -> dict[str, Any]:
    return {
        "timings": {
            "evalTotalTime": seconds,
            "resultSortTime": 0,
            "queryPreparationTime": 0,
            "innerEvalTime": seconds,
            "execQueueTime": 0,
            "execTotalTime": seconds,
        },
        "samples": {"totalQueryableSamples": engine.budget.total, "peakSamples": engine.budget.peak},
    }


def now_ms() -> int:
    """Return the time of the wall clock."""
    return time.time_ns() // 1_000_000


class Queries:
    def __init__(
        self, readers: QueryWork, limits: QueryLimits, own: ServerMetrics, clock: Callable[[], int] = now_ms
    ) -> None:
        self._readers, self._limits, self._own, self._clock = readers, limits, own, clock

    def routes(self) -> list[BaseRoute]:
        handlers = {
            "query": self.query,
            "query_range": self.query_range,
            "query_exemplars": self.exemplars,
            "format_query": self.format_query,
            "series": self.series,
            "labels": self.labels,
        }
        return [*build_routes(handlers, BOTH), *build_routes({"label/{name:text}/values": self.label_values})]

    async def query(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        at = parameters.time_or("time", self._clock())
        query_request = QueryRequest(parameters.one("query"), at, at)
        return await self._run("query", request, parameters, query_request)

    async def query_range(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        start, end = parameters.time("start"), parameters.time("end")
        if end < start:
            raise BadDataError('invalid parameter "end": end timestamp must not be before start time')
        query_request = QueryRequest(parameters.one("query"), start, end, parameters.duration("step"))
        return await self._run("query_range", request, parameters, query_request)

    async def series(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        if not parameters.every("match[]"):
            raise BadDataError("no match[] parameter provided")
        return await self._execute("series", request, partial(series, await _read_lookup(parameters)))

    async def labels(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        return await self._execute("labels", request, partial(label_names, await _read_lookup(parameters)))

    async def label_values(self, request: Request) -> Response:
        parameters = await read_parameters(request)
        name = label_name(request.path_params["name"])
        lookup_request = await _read_lookup(parameters)
        return await self._execute("label_values", request, partial(label_values, name, lookup_request))

    async def exemplars(self, request: Request) -> Response:
        """Answer that there are none, to a query_request that makes sense."""
        parameters = await read_parameters(request)
        if parameters.time_or("end", LATEST) < parameters.time_or("start", EARLIEST):
            raise BadDataError("end timestamp must not be before start timestamp")
        await asyncio.to_thread(format_query, parameters.one("query"))
        return respond(json_encoder.document([]), request)

    async def format_query(self, request: Request) -> Response:
        """Answer a query in its usual spelling."""
        parameters = await read_parameters(request)
        return respond(
            json_encoder.document(await asyncio.to_thread(format_query, parameters.one("query"))), request
        )

    async def _run(
        self, kind: str, request: Request, parameters: Parameters, query_request: QueryRequest
    ) -> Response:
        timeout = parameters.duration_or_none("timeout")
        query_request = query_request._replace(
            lookback=parameters.duration_or_none("lookback_delta"),
            limit=parameters.limit(),
            stats=bool(parameters.one("stats")),
        )
        if query_request.step is not None:
            # Refused before a reader is bothered, and before the text is parsed, as Prometheus does.
            _check_steps(query_request.start, query_request.end, query_request.step, self._limits.points)
        seconds = None if timeout is None else max(timeout / 1000, 0.0)
        return await self._execute(kind, request, partial(run_query, query_request), seconds)

    async def _execute(
        self, kind: str, request: Request, make: Callable[..., Body], seconds: float | None = None
    ) -> Response:
        job: Work = partial(make, wants_gzip(request))
        with self._own.question(kind):
            return respond(await cancel_on_disconnect(request, self._readers.ask(job, seconds)), request)


async def _read_lookup(parameters: Parameters) -> LabelRequest:
    start, end = parameters.time_or("start", EARLIEST), parameters.time_or("end", LATEST)
    # Selectors may take their time to be parsed, in which others are answered.
    return LabelRequest(await asyncio.to_thread(parameters.selectors), start, end, parameters.limit())


def _check_steps(start: int, end: int, step: int, points: int) -> None:
    if step <= 0:
        raise BadDataError(
            'invalid parameter "step": zero or negative query resolution step widths are not accepted. '
            "Try a positive integer"
        )
    if (end - start) // step > points:
        raise BadDataError(
            f"exceeded maximum resolution of {points:,} points per timeseries. "
            "Try decreasing the query resolution (?step=XX)"
        )
