"""Bodies of requests are bounded together, and none of them holds up the event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from tests.server.asgi import call
from tests.server.known import known_secrets
from vigie.query.errors import BadDataError
from vigie.server.auth.authenticator import Authenticator
from vigie.server.auth.middleware import with_auth
from vigie.server.http.bodies import (
    AUTHENTICATED,
    SMALL_BODY,
    BodyBudgets,
    CanceledError,
    ServerBusyError,
    read_body,
)
from vigie.server.http.requests import MAX_ANONYMOUS_FORM, read_parameters
from vigie.server.http.routes import ApiRoute, Content, Operation
from vigie.server.parser_threads import SMALL_BYTES

FORM = [(b"content-type", b"application/x-www-form-urlencoded")]


def scope_of(*, known: bool) -> dict[str, object]:
    scope: dict[str, object] = {"type": "http", "method": "POST", "query_string": b"", "headers": FORM}
    return scope | ({AUTHENTICATED: True} if known else {})


def form_request(body: bytes, *, known: bool = True) -> Request:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope_of(known=known), receive)


@contextlib.asynccontextmanager
async def counting_turns() -> AsyncIterator[list[int]]:
    """Count how often the event loop turns to somebody else."""
    turns = [0]

    async def turn() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(turn())
    try:
        yield turns
    finally:
        task.cancel()


def test_large_form_is_parsed_beside_the_event_loop() -> None:
    async def test() -> None:
        async with counting_turns() as turns:
            parameters = await read_parameters(form_request(b"query=" + b"%41" * SMALL_BYTES))
            assert turns[0] > 0
        assert parameters.one("query") == "A" * SMALL_BYTES

    asyncio.run(test())


def test_form_without_credentials_is_short() -> None:
    body = b"query=" + b"1" * MAX_ANONYMOUS_FORM

    async def test() -> None:
        assert (await read_parameters(form_request(body))).one("query")
        with pytest.raises(BadDataError, match="larger than"):
            await read_parameters(form_request(body, known=False))

    asyncio.run(test())


@pytest.mark.parametrize("name", ["time", "timeout", "limit", "step"])
def test_endless_number_is_refused_without_being_quoted(name: str) -> None:
    async def test() -> None:
        parameters = await read_parameters(form_request(f"{name}={'9' * 100_000}s".encode()))
        for read in (parameters.time, parameters.duration, parameters.limit):
            with pytest.raises(BadDataError, match=r"characters$"):
                read(name)

    asyncio.run(test())


def test_unfinished_bodies_of_all_requests_share_one_bound() -> None:
    budgets = BodyBudgets(known=10 * SMALL_BODY, anonymous=4 * SMALL_BODY)

    async def part() -> Message:
        return {"type": "http.request", "body": b"x" * SMALL_BODY, "more_body": True}

    async def test() -> None:
        with contextlib.ExitStack() as open_requests:
            # One that is large stops at three quarters, a small one finds the rest.
            large = open_requests.enter_context(budgets.count(scope_of(known=False), part))
            for _ in range(3):
                await large()
            with pytest.raises(ServerBusyError):
                await large()
            await open_requests.enter_context(budgets.count(scope_of(known=False), part))()
            with pytest.raises(ServerBusyError):
                await open_requests.enter_context(budgets.count(scope_of(known=False), part))()
            # Who shows credentials does not notice.
            await open_requests.enter_context(budgets.count(scope_of(known=True), part))()
        assert budgets.anonymous.used == budgets.known.used == 0

    asyncio.run(test())


def test_body_that_does_not_come_is_given_up() -> None:
    async def never() -> Message:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def test() -> None:
        with pytest.raises(CanceledError):
            await read_body(Request(scope_of(known=False), never), 10, seconds=0.01)

    asyncio.run(test())


def test_every_request_is_counted_and_a_full_server_says_so() -> None:
    async def echo(request: Request) -> Response:
        return Response(str(len(await read_body(request, 100 << 20))))

    route = ApiRoute("/echo", echo, Operation("Echo.", Content("")), methods=["POST"])
    with known_secrets("token") as secrets:
        app = with_auth([route], Authenticator(secrets))
        known = {"Authorization": "Bearer token"}
        assert call(app, "POST", "/echo", {}, b"x" * 1000).body == b"1000"
        assert call(app, "POST", "/echo", {}, b"x" * (9 << 20)).status == 503
        assert call(app, "POST", "/echo", known, b"x" * (9 << 20)).status == 200
        assert call(app, "POST", "/echo", known, b"x" * (99 << 20)).status == 503
        assert call(app, "POST", "/echo", {}, b"x" * 1000).body == b"1000"
