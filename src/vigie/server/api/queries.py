"""The routes that ask the store: queries, series, labels."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from vigie.query.budget import Limits
from vigie.query.errors import BadData
from vigie.query.parsing.parse import formatted
from vigie.server.api import encode, work
from vigie.server.api.body import Body
from vigie.server.api.parameters import EARLIEST, LATEST, Parameters, label_name
from vigie.server.api.readers import Work
from vigie.server.http import Asks, parameters_of, sent, unless_gone, wants_gzip
from vigie.server.own import Own


def now_ms() -> int:
    """Return the time of the wall clock."""
    return time.time_ns() // 1_000_000


class Queries:
    """Answers questions as Prometheus does."""

    def __init__(self, readers: Asks, limits: Limits, own: Own, clock: Callable[[], int] = now_ms) -> None:
        self._readers, self._limits, self._own, self._clock = readers, limits, own, clock

    async def query(self, request: Request) -> Response:
        """Answer a query at one time."""
        given = await parameters_of(request)
        at = given.time_or("time", self._clock())
        question = work.Question(given.one("query"), at, at)
        return await self._queried("query", request, given, question)

    async def query_range(self, request: Request) -> Response:
        """Answer a query at every step."""
        given = await parameters_of(request)
        start, end = given.time("start"), given.time("end")
        if end < start:
            raise BadData('invalid parameter "end": end timestamp must not be before start time')
        question = work.Question(given.one("query"), start, end, given.duration("step"))
        return await self._queried("query_range", request, given, question)

    async def series(self, request: Request) -> Response:
        """Answer which series fit."""
        given = await parameters_of(request)
        if not given.every("match[]"):
            raise BadData("no match[] parameter provided")
        return await self._asked("series", request, partial(work.series, await _look(given)))

    async def labels(self, request: Request) -> Response:
        """Answer which labels there are."""
        given = await parameters_of(request)
        return await self._asked("labels", request, partial(work.label_names, await _look(given)))

    async def label_values(self, request: Request) -> Response:
        """Answer which values a label has."""
        given = await parameters_of(request)
        name = label_name(request.path_params["name"])
        look = await _look(given)
        return await self._asked("label_values", request, partial(work.label_values, name, look))

    async def exemplars(self, request: Request) -> Response:
        """Answer that there are none, to a question that makes sense."""
        given = await parameters_of(request)
        if given.time_or("end", LATEST) < given.time_or("start", EARLIEST):
            raise BadData("end timestamp must not be before start timestamp")
        await asyncio.to_thread(formatted, given.one("query"))
        return sent(encode.document([]), request)

    async def format_query(self, request: Request) -> Response:
        """Answer a query in its usual spelling."""
        given = await parameters_of(request)
        return sent(encode.document(await asyncio.to_thread(formatted, given.one("query"))), request)

    async def _queried(
        self, kind: str, request: Request, given: Parameters, question: work.Question
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
        return await self._asked(kind, request, partial(work.answer, question), seconds)

    async def _asked(
        self, kind: str, request: Request, make: Callable[..., Body], seconds: float | None = None
    ) -> Response:
        job: Work = partial(make, wants_gzip(request))
        with self._own.question(kind):
            return sent(await unless_gone(request, self._readers.ask(job, seconds)), request)


async def _look(given: Parameters) -> work.Look:
    start, end = given.time_or("start", EARLIEST), given.time_or("end", LATEST)
    # Selectors may take their time to be parsed, in which others are answered.
    return work.Look(await asyncio.to_thread(given.selectors), start, end, given.limit())


def _check_steps(start: int, end: int, step: int, points: int) -> None:
    if step <= 0:
        raise BadData(
            'invalid parameter "step": zero or negative query resolution step widths are not accepted. '
            "Try a positive integer"
        )
    if (end - start) // step > points:
        raise BadData(
            f"exceeded maximum resolution of {points:,} points per timeseries. "
            "Try decreasing the query resolution (?step=XX)"
        )
