"""Many questions at one moment, asked in one turn of a reader, with answers cut down to what is needed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from vigie.query.budget import Limits
from vigie.query.engine import Answer, Engine, Series
from vigie.query.errors import BadData, ExecutionError, QueryTimeout, TooManySamples
from vigie.query.storage import Matcher, Storage
from vigie.server.api.work import EVERYTHING
from vigie.server.http import Asks

HOUR_MS = 3_600_000
SECONDS = 20.0  # a page that takes longer is of no use
Key = tuple[str, ...]


class Ask(NamedTuple):
    """A query, and which labels of its answer are wanted."""

    query: str
    labels: tuple[str, ...] = ("instance", "gpu")


class Span(NamedTuple):
    """From when to when, and at which steps, in milliseconds."""

    start: int
    end: int
    step: int


class Row(msgspec.Struct, array_like=True, frozen=True):
    """One series of an answer: the values of the wanted labels, and its numbers with their times."""

    labels: Key
    times: list[int]
    values: list[float]

    @property
    def value(self) -> float:
        """Return the newest number."""
        return self.values[-1]


class Found(msgspec.Struct, array_like=True):
    """What was answered, by the name of each question, and why some have no answer."""

    rows: dict[str, list[Row]]
    errors: dict[str, str]

    def numbers(self, name: str) -> dict[Key, float]:
        """Return the newest number of each series."""
        return {row.labels: row.value for row in self.rows.get(name, ())}


class Asker(Protocol):
    """Answers several questions at once."""

    async def ask(self, asks: Mapping[str, Ask], at: int | Span, seconds: float = SECONDS) -> Found:
        """Return the answers at one time, or at every step of a span."""

    async def names(self, at_ms: int) -> list[str]:
        """Return the names of the metrics of the last hour."""


class Embedded:
    """Asks the store of this server."""

    def __init__(self, readers: Asks) -> None:
        self._readers = readers

    async def ask(self, asks: Mapping[str, Ask], at: int | Span, seconds: float = SECONDS) -> Found:
        """Return the answers at one time, or at every step of a span."""
        body = await self._readers.ask(partial(_answered, dict(asks), at), seconds)
        return msgspec.msgpack.decode(body, type=Found)

    async def names(self, at_ms: int) -> list[str]:
        """Return the names of the metrics of the last hour."""
        body = await self._readers.ask(partial(_named, at_ms), SECONDS)
        return msgspec.msgpack.decode(body, type=list[str])


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
                return await asyncio.to_thread(_collected, self._engine, asks, at)
        except TimeoutError:
            raise QueryTimeout(f"the engine elsewhere did not answer within {seconds:g} s") from None

    async def names(self, at_ms: int) -> list[str]:
        """Return the names of the metrics of the last hour."""
        return await asyncio.to_thread(
            self._engine.label_values, "__name__", EVERYTHING, at_ms - HOUR_MS, at_ms
        )


def _answered(asks: Mapping[str, Ask], at: int | Span, storage: Storage, limits: Limits) -> bytes:
    return msgspec.msgpack.encode(_collected(Engine(storage, limits), asks, at))


def _named(at_ms: int, storage: Storage, _: Limits) -> bytes:
    return msgspec.msgpack.encode(storage.label_values("__name__", EVERYTHING, at_ms - HOUR_MS, at_ms))


def _collected(engine: Asked, asks: Mapping[str, Ask], at: int | Span) -> Found:
    """Ask one by one; a question that the data do not allow costs itself only."""
    found = Found({}, {})
    for name, ask in asks.items():
        try:
            answer = engine.range(ask.query, *at) if isinstance(at, Span) else engine.instant(ask.query, at)
        except TooManySamples:
            raise  # too much for a thread: a process of its own may do it
        except (BadData, ExecutionError) as error:
            found.errors[name] = str(error)
            continue
        found.rows[name] = [row for series in answer.series if (row := _row(series, ask.labels))]
    return found


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
