"""What every route shares: bodies with a bound and a deadline, JSON answers, errors in Prometheus's form."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vigie.agent.negotiation import takes_gzip
from vigie.agent.pages import gzipped
from vigie.query.errors import BadData, QueryError
from vigie.server.access.secrets_file import SecretsError
from vigie.server.api.body import PIECE, Body
from vigie.server.api.encode import failure
from vigie.server.api.parameters import Parameters
from vigie.server.api.readers import Work
from vigie.store.errors import StoreError

log = logging.getLogger(__name__)

JSON = "application/json"
MAX_FORM = 10 << 20  # bytes, as in Prometheus
BODY_SECONDS = 60.0
WORTH_PACKING = 1024  # bytes; less fits into one packet anyway
GZIP_MAGIC = b"\x1f\x8b"

Handler = Callable[[Request], Awaitable[Response]]


class Asks(Protocol):
    """What answers questions about the store."""

    async def ask(self, work: Work, seconds: float | None = None) -> Body:
        """Return what the work makes of the store."""


class Canceled(QueryError):
    """Nobody waits for the answer any more."""

    kind = "canceled"
    status = 503


class Answer(Response):
    """A body that is sent piece by piece, as fast as the client takes it."""

    def __init__(self, body: Body, status: int, headers: Mapping[str, str], content_type: str) -> None:
        self._pieces = body if isinstance(body, list) else _cut(body)
        length = {"Content-Length": str(sum(map(len, self._pieces)))}
        super().__init__(None, status, {**length, **headers}, content_type)

    async def __call__(self, _: Scope, __: Receive, send: Send) -> None:
        """Send it."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        for number, piece in enumerate(self._pieces, 1):
            more = number < len(self._pieces)
            await send({"type": "http.response.body", "body": piece, "more_body": more})


def _cut(body: bytes) -> Sequence[bytes | memoryview]:
    return [memoryview(body)[at : at + PIECE] for at in range(0, len(body) or 1, PIECE)]


class TooLarge(Exception):
    """A body larger than is taken."""


async def body_of(request: Request, most: int, seconds: float = BODY_SECONDS) -> bytes:
    """Return the body of a request, unless it is too large or too slow."""
    content = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                content += part
                if len(content) > most:
                    raise TooLarge(f"the body is larger than {most} bytes")
    except TimeoutError:
        raise Canceled(f"the request's body did not come within {seconds:g} s") from None
    return bytes(content)


async def parameters_of(request: Request) -> Parameters:
    """Return the parameters of a request, from its address and its form."""
    form = b""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and kind == "application/x-www-form-urlencoded":
        try:
            form = await body_of(request, MAX_FORM)
        except TooLarge as error:
            raise BadData(f"error parsing form values: {error}") from None
    return Parameters(request.scope["query_string"], form)


def answered(handler: Handler) -> Handler:
    """Return the handler with its errors turned into answers."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except QueryError as error:
            return refusal(error.status, error.kind, str(error))
        except ClientDisconnect:
            return Response(status_code=499)
        except (StoreError, SecretsError, sqlite3.Error) as error:  # a full disk, most likely
            log.error("while answering %s: %s", request.url.path, error)
            return refusal(503, "unavailable", "vigie cannot get at its data now; its log says why")
        except Exception:  # one bad answer must not end the server
            log.exception("while answering %s", request.url.path)
            return refusal(500, "internal", "vigie could not answer; its log says why")

    return answer


def refusal(status: int, kind: str, text: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as Prometheus spells it."""
    return Response(failure(kind, text), status, headers, JSON)


def sent(body: Body, request: Request, content_type: str = JSON) -> Response:
    """Return an answer, compressed where the client takes that; it may be so already, or come in pieces."""
    headers = {"Vary": "Accept-Encoding"}
    if isinstance(body, list):
        return Answer(body, 200, headers, content_type)
    if not body.startswith(GZIP_MAGIC):
        body = packed(body, wants_gzip(request))
    if body.startswith(GZIP_MAGIC):
        headers["Content-Encoding"] = "gzip"
    return Answer(body, 200, headers, content_type)


def wants_gzip(request: Request) -> bool:
    """Tell whether the client takes gzip."""
    return takes_gzip(request.headers.get("accept-encoding", ""))


def packed(body: bytes, wanted: bool) -> bytes:
    """Return the body, compressed if that is wanted and worth it."""
    return gzipped(body) if wanted and len(body) > WORTH_PACKING else body


async def unless_gone(request: Request, asking: Coroutine[Any, Any, Body]) -> Body:
    """Return the answer; when the client leaves first, the question is cancelled."""
    question = asyncio.ensure_future(asking)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait([question, leaving], return_when=asyncio.FIRST_COMPLETED)
        if question.done():
            return question.result()
        raise Canceled("query was canceled: the client left")
    finally:
        for task in (question, leaving):
            task.cancel()
        await asyncio.wait([question, leaving])


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
