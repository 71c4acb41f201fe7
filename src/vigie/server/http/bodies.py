"""Bodies of requests: bounded each, bounded together, and with a deadline."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from vigie.query.errors import QueryError
from vigie.server.byte_budget import BudgetExceededError, ByteBudget

AUTHENTICATED = "vigie.authenticated"  # set in the scope of a request that came with credentials
MAX_BODIES = 96 << 20  # bytes of all bodies in memory
MAX_ANONYMOUS_BODIES = 8 << 20  # of those without credentials
SMALL_BODY = 64 << 10
BODY_SECONDS = 60.0
ANONYMOUS_BODY_SECONDS = 10.0


class CanceledError(QueryError):
    """Nobody waits for the answer any more."""

    kind = "canceled"
    status = 503


class ServerBusyError(QueryError):
    """Too many bytes of requests are in memory."""

    kind = "unavailable"
    status = 503


class BodyTooLargeError(Exception):
    """A body larger than is taken."""


class BodyBudgets:
    """What all requests together may hold; those without credentials share a small part."""

    def __init__(self, known: int = MAX_BODIES, anonymous: int = MAX_ANONYMOUS_BODIES) -> None:
        self.known, self.anonymous = ByteBudget(known), ByteBudget(anonymous)

    @contextlib.contextmanager
    def count(self, scope: Scope, receive: Receive) -> Iterator[Receive]:
        """Give a `receive` that counts what it returns until the request is answered."""
        budget = self.known if AUTHENTICATED in scope else self.anonymous
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            size = len(message.get("body", b""))
            try:
                budget.take(size, small=taken + size <= SMALL_BODY)
            except BudgetExceededError as error:
                raise ServerBusyError(f"request bodies take {error}: try again later") from None
            taken += size
            return message

        try:
            yield counted
        finally:
            budget.give_back(taken)


async def read_body(request: Request, most: int, seconds: float | None = None) -> bytes:
    """Return the body of a request, unless it is too large or too slow."""
    if seconds is None:
        seconds = BODY_SECONDS if AUTHENTICATED in request.scope else ANONYMOUS_BODY_SECONDS
    content = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                content += part
                if len(content) > most:
                    raise BodyTooLargeError(f"the body is larger than {most} bytes")
    except TimeoutError:
        raise CanceledError(f"the request's body did not come within {seconds:g} s") from None
    return bytes(content)
