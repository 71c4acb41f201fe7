"""POST /add_node and /remove_node: exporters are registered while everything runs."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from vigie.server.http.bodies import BodyTooLargeError, read_body
from vigie.server.http.routes import ADMIN, JSON, ApiRoute, Content, Operation, RouteAccess
from vigie.server.parser_threads import parse
from vigie.server.scrape.target import InvalidTargetError, target_of
from vigie.server.scrape.target_store import TargetConflictError, TargetStore
from vigie.store.errors import StoreError

MAX_BODY = 1 << 20
RECEIVED = {"message": "Node update received"}


class AddNode(msgspec.Struct):
    """The exporters of a node that share their labels."""

    labels: dict[str, str]
    targets: list[str]


class RemoveNode(msgspec.Struct):
    ip: str


class Registered(msgspec.Struct):
    message: str


class RegistrationProblem(msgspec.Struct):
    detail: str


def _problem(description: str) -> Content:
    return Content(description, {JSON: RegistrationProblem})


ADD = Operation(
    "Register exporters of a node; they are scraped from now on.",
    Registered,
    body=AddNode,
    errors={
        400: _problem("An address or a label cannot be used."),
        409: _problem("It is registered with other labels elsewhere."),
        413: _problem("The body is too large."),
        422: _problem("The body is malformed."),
    },
)
REMOVE = Operation(
    "Forget all exporters of a node; an unknown one is no error.",
    Registered,
    body=RemoveNode,
    errors={
        400: _problem("There is no address."),
        413: _problem("The body is too large."),
        422: _problem("The body is malformed."),
    },
)
_Body = TypeVar("_Body", AddNode, RemoveNode)


class RegistrationError(Exception):
    """A request that is not followed."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class RegistrationRoutes:
    """Answers requests to add and to remove; both may be repeated without harm."""

    def __init__(self, targets: TargetStore) -> None:
        self._targets = targets

    def routes(self) -> list[BaseRoute]:
        join = RouteAccess("join", changes=True)
        return [
            ApiRoute("/add_node", self.add, ADD, methods=["POST"], access=join),
            ApiRoute("/remove_node", self.remove, REMOVE, methods=["POST"], access=ADMIN),
        ]

    async def add(self, request: Request) -> Response:
        """Add exporters, or give known ones other labels."""
        try:
            body = await _body(request, AddNode)
            if not body.targets:
                raise RegistrationError(400, 'targets is empty: name at least one, such as "10.0.0.1:9100"')
            targets = [target_of(address, body.labels) for address in body.targets]
            await asyncio.to_thread(self._targets.add, targets)
        except RegistrationError as error:
            return _refusal(error.status, error)
        except TargetConflictError as error:
            return _refusal(409, error)
        except InvalidTargetError as error:
            return _refusal(400, error)
        except StoreError as error:
            return _refusal(503, error)
        return JSONResponse(RECEIVED)

    async def remove(self, request: Request) -> Response:
        """Remove all exporters of a node; an unknown one is no error."""
        try:
            body = await _body(request, RemoveNode)
            if not body.ip.strip():
                raise RegistrationError(400, "ip is empty: name the node's address, such as 10.0.0.1")
            await asyncio.to_thread(self._targets.remove, body.ip.strip())
        except RegistrationError as error:
            return _refusal(error.status, error)
        except StoreError as error:
            return _refusal(503, error)
        return JSONResponse(RECEIVED)


async def _body(request: Request, kind: type[_Body]) -> _Body:
    try:
        body = await read_body(request, MAX_BODY)
        return await parse(len(body), msgspec.json.decode, body, type=kind)
    except BodyTooLargeError as error:
        raise RegistrationError(413, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegistrationError(422, f"Invalid Node update data: {error}") from None


def _refusal(status: int, why: Exception) -> Response:
    return JSONResponse({"detail": str(why)}, status)
