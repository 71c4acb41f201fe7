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
    QueryWork,
    cancel_on_disconnect,
    join_parameters,
    label_name,
    maybe_gzip,
    parameters_of,
    respond,
    wants_gzip,
)
from vigie.server.http.responses import Body, join_chunks, split_chunks
from vigie.server.metrics import ServerMetrics
from vigie.server.query_executor import Work


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
    """A look-up of labels or series: what fits any of the selectors in a time span."""

    selectors: Sequence[Sequence[Matcher]]
    start: int
    end: int
    limit: int | None = None


def run_query(question: QueryRequest, gzip: bool, storage: Storage, limits: QueryLimits) -> Body:
    """Return the body of the answer to a query."""
    begun = time.perf_counter()
    engine = Engine(storage, limits, lookback=question.lookback or LOOKBACK_MS)
    found = _asked(engine, question)
    taken = time.perf_counter() - begun
    stats = _stats(engine, taken) if question.stats else None
    body = split_chunks(json_encoder.result(found, question.end, question.limit, stats))
    return maybe_gzip(join_chunks(body), gzip) if gzip else body


def series(look: LabelRequest, gzip: bool, storage: Storage, _: QueryLimits) -> bytes:
    """Return the body with the label sets that fit."""
    found: dict[Any, Labels] = {}
    for matchers in look.selectors:
        for labels in _series(look, matchers, storage):
            found.setdefault(label_set_key(labels), labels)
    ordered = sorted(found.values(), key=label_sort_key)
    return maybe_gzip(json_encoder.label_sets(ordered, look.limit), gzip)


def _series(look: LabelRequest, matchers: Sequence[Matcher], storage: Storage) -> list[Labels]:
    if look.limit is not None and isinstance(storage, ListableStorage):
        return storage.first_series(matchers, look.start, look.end, look.limit + 1)  # one more, to say so
    return storage.series(matchers, look.start, look.end)


def label_names(look: LabelRequest, gzip: bool, storage: Storage, _: QueryLimits) -> bytes:
    """Return the body with the names of labels."""
    return _words(look, gzip, lambda matchers: storage.label_names(matchers, look.start, look.end))


def label_values(name: str, look: LabelRequest, gzip: bool, storage: Storage, _: QueryLimits) -> bytes:
    """Return the body with the values of a label."""
    return _words(look, gzip, lambda matchers: storage.label_values(name, matchers, look.start, look.end))


def _words(look: LabelRequest, gzip: bool, lookup: Callable[[Sequence[Matcher]], list[str]]) -> bytes:
    sets = [lookup(matchers) for matchers in look.selectors or [EVERYTHING]]
    return maybe_gzip(json_encoder.encode_strings(join_parameters(sets), look.limit), gzip)


def _asked(engine: Engine, question: QueryRequest) -> QueryResult:
    if question.step is None:
        return engine.instant(question.query, question.end)
    return engine.range(question.query, question.start, question.end, question.step)


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
    """Answers questions as Prometheus does."""

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
        """Answer a query at one time."""
        given = await parameters_of(request)
        at = given.time_or("time", self._clock())
        question = QueryRequest(given.one("query"), at, at)
        return await self._queried("query", request, given, question)

    async def query_range(self, request: Request) -> Response:
        """Answer a query at every step."""
        given = await parameters_of(request)
        start, end = given.time("start"), given.time("end")
        if end < start:
            raise BadDataError('invalid parameter "end": end timestamp must not be before start time')
        question = QueryRequest(given.one("query"), start, end, given.duration("step"))
        return await self._queried("query_range", request, given, question)

    async def series(self, request: Request) -> Response:
        """Answer which series fit."""
        given = await parameters_of(request)
        if not given.every("match[]"):
            raise BadDataError("no match[] parameter provided")
        return await self._asked("series", request, partial(series, await _look(given)))

    async def labels(self, request: Request) -> Response:
        given = await parameters_of(request)
        return await self._asked("labels", request, partial(label_names, await _look(given)))

    async def label_values(self, request: Request) -> Response:
        """Answer which values a label has."""
        given = await parameters_of(request)
        name = label_name(request.path_params["name"])
        look = await _look(given)
        return await self._asked("label_values", request, partial(label_values, name, look))

    async def exemplars(self, request: Request) -> Response:
        """Answer that there are none, to a question that makes sense."""
        given = await parameters_of(request)
        if given.time_or("end", LATEST) < given.time_or("start", EARLIEST):
            raise BadDataError("end timestamp must not be before start timestamp")
        await asyncio.to_thread(format_query, given.one("query"))
        return respond(json_encoder.document([]), request)

    async def format_query(self, request: Request) -> Response:
        """Answer a query in its usual spelling."""
        given = await parameters_of(request)
        return respond(
            json_encoder.document(await asyncio.to_thread(format_query, given.one("query"))), request
        )

    async def _queried(
        self, kind: str, request: Request, given: Parameters, question: QueryRequest
    ) -> Response:
        timeout = given.duration_or_none("timeout")
        question = question._replace(
            lookback=given.duration_or_none("lookback_delta"),
            limit=given.limit(),
            stats=bool(given.one("stats")),
        )
        if question.step is not None:
            # Refused before a reader is bothered, and before the text is parsed, as Prometheus does.
            _check_steps(question.start, question.end, question.step, self._limits.points)
        seconds = None if timeout is None else max(timeout / 1000, 0.0)
        return await self._asked(kind, request, partial(run_query, question), seconds)

    async def _asked(
        self, kind: str, request: Request, make: Callable[..., Body], seconds: float | None = None
    ) -> Response:
        job: Work = partial(make, wants_gzip(request))
        with self._own.question(kind):
            return respond(await cancel_on_disconnect(request, self._readers.ask(job, seconds)), request)


async def _look(given: Parameters) -> LabelRequest:
    start, end = given.time_or("start", EARLIEST), given.time_or("end", LATEST)
    # Selectors may take their time to be parsed, in which others are answered.
    return LabelRequest(await asyncio.to_thread(given.selectors), start, end, given.limit())


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
