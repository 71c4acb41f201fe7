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

from vigie.query.batch_storage import together
from vigie.query.engine import LOOKBACK_MS, Answer, Engine, Series
from vigie.query.errors import BadData, ExecutionError, QueryTimeout, TooManySamples
from vigie.query.limits import Limits
from vigie.query.parser.parse import parse
from vigie.query.storage import Matcher, Storage
from vigie.query.subexpression_cache import Shared
from vigie.server.api.prometheus.queries import EVERYTHING
from vigie.server.http.responses import whole
from vigie.server.pages.result_table import Key as Key
from vigie.server.pages.result_table import Packed, Table
from vigie.server.pages.result_table import Row as Row
from vigie.server.query_executor import Readers

HOUR_MS = 3_600_000
SECONDS = 20.0  # a page that takes longer is of no use
MANY = 5_000  # numbers of each series: as many as the look at some hours asks for, and no page
T = TypeVar("T")


class Ask(NamedTuple):
    """A query, and which labels of its answer are wanted."""

    query: str
    labels: tuple[str, ...] = ("instance", "gpu")


class Span(NamedTuple):
    """From when to when, and at which steps, in milliseconds."""

    start: int
    end: int
    step: int

    @property
    def steps(self) -> int:
        """Return how many there are."""
        return (self.end - self.start) // self.step + 1


class Found(NamedTuple):
    """What was answered, by the name of each question, and why some have no answer."""

    rows: Mapping[str, Sequence[Row]]
    errors: dict[str, str]

    def numbers(self, name: str) -> Mapping[Key, float]:
        """Return the newest number of each series."""
        rows = self.rows.get(name, ())
        return rows.numbers() if isinstance(rows, Table) else {row.labels: row.value for row in rows}


class _Sent(msgspec.Struct, array_like=True):
    """The same between processes."""

    rows: dict[str, Packed]
    errors: dict[str, str]


class Asker(Protocol):
    """Answers several questions at once."""

    async def ask(self, asks: Mapping[str, Ask], at: int | Span, seconds: float = SECONDS) -> Found:
        """Return the answers at one time, or at every step of a span."""

    async def names(self, at_ms: int) -> list[str]:
        """Return the names of the metrics of the last hour."""


class Embedded:
    """Asks the store of this server."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def ask(self, asks: Mapping[str, Ask], at: int | Span, seconds: float = SECONDS) -> Found:
        """Return the answers at one time, or at every step of a span."""
        big = isinstance(at, Span) and len(asks) * at.steps > MANY
        body = await self._readers.ask(partial(_answered, dict(asks), at), seconds, big=big)
        sent = msgspec.msgpack.decode(whole(body), type=_Sent)
        return Found({name: Table(packed) for name, packed in sent.rows.items()}, sent.errors)

    async def names(self, at_ms: int) -> list[str]:
        """Return the names of the metrics of the last hour."""
        body = await self._readers.ask(partial(_named, at_ms), SECONDS)
        return msgspec.msgpack.decode(whole(body), type=list[str])


class Asked(Protocol):
    """What answers one query, wherever its data are."""

    def instant(self, query: str, at: int) -> Answer:
        """Return the answer at one time."""

    def range(self, query: str, start: int, end: int, step: int) -> Answer:
        """Return the answer at every step."""


class Engines(Asked, Protocol):
    """What also knows which labels there are."""

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of a label."""


class Elsewhere:
    """Asks an engine that is not ours."""

    def __init__(self, engine: Engines) -> None:
        self._engine = engine

    async def ask(self, asks: Mapping[str, Ask], at: int | Span, seconds: float = SECONDS) -> Found:
        """Return the answers at one time, or at every step of a span."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.to_thread(_elsewhere, self._engine, asks, at)
        except TimeoutError:
            raise QueryTimeout(f"the engine elsewhere did not answer within {seconds:g} s") from None

    async def names(self, at_ms: int) -> list[str]:
        """Return the names of the metrics of the last hour."""
        return await asyncio.to_thread(
            self._engine.label_values, "__name__", EVERYTHING, at_ms - HOUR_MS, at_ms
        )


def _answered(asks: Mapping[str, Ask], at: int | Span, storage: Storage, limits: Limits) -> bytes:
    span = at if isinstance(at, Span) else Span(at, at, 0)
    expressions = list(_parsed(asks))
    if not isinstance(at, Span):
        storage = together(storage, expressions, at, LOOKBACK_MS, limits.samples)
    engine = Engine(storage, limits, shared=Shared(expressions))

    def answer(ask: Ask) -> Packed:
        times, vector = engine.vector(ask.query, *span)
        return Packed.of(vector, ask.labels, times)

    return msgspec.msgpack.encode(_Sent(*_collected(asks, answer)))


def _parsed(asks: Mapping[str, Ask]) -> Iterator[Expr]:
    for ask in asks.values():
        with suppress(BadData):  # who asks it will be told
            yield parse(ask.query)


def _named(at_ms: int, storage: Storage, _: Limits) -> bytes:
    return msgspec.msgpack.encode(storage.label_values("__name__", EVERYTHING, at_ms - HOUR_MS, at_ms))


def _elsewhere(engine: Asked, asks: Mapping[str, Ask], at: int | Span) -> Found:
    def answer(ask: Ask) -> Sequence[Row]:
        query = ask.query
        found = engine.range(query, *at) if isinstance(at, Span) else engine.instant(query, at)
        return [row for series in found.series if (row := _row(series, ask.labels))]

    return Found(*_collected(asks, answer))


def _collected(asks: Mapping[str, Ask], answer: Callable[[Ask], T]) -> tuple[dict[str, T], dict[str, str]]:
    """Ask one by one; a question that the data do not allow costs itself only."""
    found: dict[str, T] = {}
    errors: dict[str, str] = {}
    for name, ask in asks.items():
        try:
            found[name] = answer(ask)
        except TooManySamples:
            raise  # too much for a thread: a process of its own may do it
        except (BadData, ExecutionError) as error:
            errors[name] = str(error)
    return found, errors


def _row(series: Series, labels: Sequence[str]) -> Row | None:
    """Return what is wanted of a series; a number that is none is as good as absent."""
    if len(series.values) == 1:
        times, values = series.times.tolist(), series.values.tolist()
        return None if math.isnan(values[0]) else Row(_wanted(series, labels), times, values)
    pairs = [
        (moment, value)
        for moment, value in zip(series.times.tolist(), series.values.tolist(), strict=True)
        if not math.isnan(value)
    ]
    if not pairs:
        return None
    return Row(_wanted(series, labels), [moment for moment, _ in pairs], [value for _, value in pairs])


def _wanted(series: Series, labels: Sequence[str]) -> Key:
    return tuple([series.labels.get(name, "") for name in labels])
