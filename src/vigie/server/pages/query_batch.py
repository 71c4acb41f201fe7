"""Many questions at one moment, asked in one turn of a reader, with answers cut down to what is needed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import msgspec
from promql_parser import Expr

from vigie.query.batch_storage import batch_reads
from vigie.query.engine import LOOKBACK_MS, Engine, QueryResult, ResultSeries
from vigie.query.errors import BadDataError, ExecutionError, QueryTimeoutError, TooManySamplesError
from vigie.query.limits import QueryLimits
from vigie.query.matchers import EVERYTHING
from vigie.query.parser.parse import parse
from vigie.query.storage import Matcher, Storage
from vigie.query.subexpression_cache import SubexpressionCache
from vigie.server.http.responses import join_chunks
from vigie.server.pages.result_table import Key as Key
from vigie.server.pages.result_table import PackedRows, ResultTable, SeriesRow
from vigie.server.query_executor import QueryExecutor

HOUR_MS = 3_600_000
SECONDS = 20.0  # a page that takes longer is of no use
MAX_POINTS = 5_000  # numbers of each series: as many as the look at some hours queries for, and no page
T = TypeVar("T")


class BatchQuery(NamedTuple):
    """A query, and which labels of its answer are wanted."""

    query: str
    labels: tuple[str, ...] = ("instance", "gpu")


class QuerySpan(NamedTuple):
    """From when to when, and at which steps, in milliseconds."""

    start: int
    end: int
    step: int

    @property
    def steps(self) -> int:
        return (self.end - self.start) // self.step + 1


class BatchResult(NamedTuple):
    """What was answered, by the name of each question, and why some have no answer."""

    rows: Mapping[str, Sequence[SeriesRow]]
    errors: dict[str, str]

    def numbers(self, name: str) -> Mapping[Key, float]:
        """Return the newest number of each series."""
        rows = self.rows.get(name, ())
        return rows.numbers() if isinstance(rows, ResultTable) else {row.labels: row.value for row in rows}


class _PackedResult(msgspec.Struct, array_like=True):
    """The same between processes."""

    rows: dict[str, PackedRows]
    errors: dict[str, str]


class BatchRunner(Protocol):
    """Answers several questions at once."""

    async def run(
        self, queries: Mapping[str, BatchQuery], at: int | QuerySpan, seconds: float = SECONDS
    ) -> BatchResult:
        """Return the answers at one time, or at every step of a span."""

    async def names(self, at_ms: int) -> list[str]:
        """Return the names of the metrics of the last hour."""


class LocalRunner:
    """Asks the store of this server."""

    def __init__(self, readers: QueryExecutor) -> None:
        self._readers = readers

    async def run(
        self, queries: Mapping[str, BatchQuery], at: int | QuerySpan, seconds: float = SECONDS
    ) -> BatchResult:
        """Return the answers at one time, or at every step of a span."""
        big = isinstance(at, QuerySpan) and len(queries) * at.steps > MAX_POINTS
        body = await self._readers.ask(partial(_run_batch, dict(queries), at), seconds, big=big)
        sent = msgspec.msgpack.decode(join_chunks(body), type=_PackedResult)
        return BatchResult({name: ResultTable(packed) for name, packed in sent.rows.items()}, sent.errors)

    async def names(self, at_ms: int) -> list[str]:
        body = await self._readers.ask(partial(_list_names, at_ms), SECONDS)
        return msgspec.msgpack.decode(join_chunks(body), type=list[str])


class LocalEngine(Protocol):
    """What answers one query, wherever its data are."""

    def instant(self, query: str, at: int) -> QueryResult:
        """Return the answer at one time."""

    def range(self, query: str, start: int, end: int, step: int) -> QueryResult:
        """Return the answer at every step."""


class RemoteEngines(LocalEngine, Protocol):
    """What also knows which labels there are."""

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of a label."""


class RemoteRunner:
    """Asks an engine that is not ours."""

    def __init__(self, engine: RemoteEngines) -> None:
        self._engine = engine

    async def run(
        self, queries: Mapping[str, BatchQuery], at: int | QuerySpan, seconds: float = SECONDS
    ) -> BatchResult:
        """Return the answers at one time, or at every step of a span."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.to_thread(_run_remotely, self._engine, queries, at)
        except TimeoutError:
            raise QueryTimeoutError(f"the engine elsewhere did not answer within {seconds:g} s") from None

    async def names(self, at_ms: int) -> list[str]:
        return await asyncio.to_thread(
            self._engine.label_values, "__name__", EVERYTHING, at_ms - HOUR_MS, at_ms
        )


def _run_batch(
    queries: Mapping[str, BatchQuery], at: int | QuerySpan, storage: Storage, limits: QueryLimits
) -> bytes:
    span = at if isinstance(at, QuerySpan) else QuerySpan(at, at, 0)
    expressions = list(_parse_queries(queries))
    if not isinstance(at, QuerySpan):
        storage = batch_reads(storage, expressions, at, LOOKBACK_MS, limits.samples)
    engine = Engine(storage, limits, shared=SubexpressionCache(expressions))

    def answer(query: BatchQuery) -> PackedRows:
        times, vector = engine.vector(query.query, *span)
        return PackedRows.of(vector, query.labels, times)

    return msgspec.msgpack.encode(_PackedResult(*_run_each(queries, answer)))


def _parse_queries(queries: Mapping[str, BatchQuery]) -> Iterator[Expr]:
    for query in queries.values():
        with suppress(BadDataError):  # who queries it will be told
            yield parse(query.query)


def _list_names(at_ms: int, storage: Storage, _: QueryLimits) -> bytes:
    return msgspec.msgpack.encode(storage.label_values("__name__", EVERYTHING, at_ms - HOUR_MS, at_ms))


def _run_remotely(engine: LocalEngine, queries: Mapping[str, BatchQuery], at: int | QuerySpan) -> BatchResult:
    def answer(query: BatchQuery) -> Sequence[SeriesRow]:
        text = query.query
        result = engine.range(text, *at) if isinstance(at, QuerySpan) else engine.instant(text, at)
        return [row for series in result.series if (row := _row(series, query.labels))]

    return BatchResult(*_run_each(queries, answer))


def _run_each(
    queries: Mapping[str, BatchQuery], answer: Callable[[BatchQuery], T]
) -> tuple[dict[str, T], dict[str, str]]:
    """Ask one by one; a question that the data do not allow costs itself only."""
    found: dict[str, T] = {}
    errors: dict[str, str] = {}
    for name, query in queries.items():
        try:
            found[name] = answer(query)
        except TooManySamplesError:
            raise  # too much for a thread: a process of its own may do it
        except (BadDataError, ExecutionError) as error:
            errors[name] = str(error)
    return found, errors


def _row(series: ResultSeries, labels: Sequence[str]) -> SeriesRow | None:
    """Return what is wanted of a series; a number that is none is as good as absent."""
    if len(series.values) == 1:
        times, values = series.times.tolist(), series.values.tolist()
        return None if math.isnan(values[0]) else SeriesRow(_pick_labels(series, labels), times, values)
    pairs = [
        (moment, value)
        for moment, value in zip(series.times.tolist(), series.values.tolist(), strict=True)
        if not math.isnan(value)
    ]
    if not pairs:
        return None
    return SeriesRow(
        _pick_labels(series, labels), [moment for moment, _ in pairs], [value for _, value in pairs]
    )


def _pick_labels(series: ResultSeries, labels: Sequence[str]) -> Key:
    return tuple([series.labels.get(name, "") for name in labels])
