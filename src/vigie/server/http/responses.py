"""Responses: JSON, errors as Prometheus spells them, gzip, ETags, bodies in chunks that are copied once."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vigie.query.block_batches import split_batches
from vigie.query.errors import QueryError
from vigie.store.errors import StoreError
from vigie.wire.api.resources import ApiError
from vigie.wire.exposition.negotiation import accepts_gzip
from vigie.wire.gzip import compress

CHUNK_BYTES = 256 << 10  # handed over at a time: asyncio copies what the network does not take yet
Body = bytes | list[bytes]


JSON = "application/json"
MIN_GZIP_BYTES = 1024  # less fits into one packet anyway
GZIP_MAGIC = b"\x1f\x8b"
Handler = Callable[[Request], Awaitable[Response]]
log = logging.getLogger(__name__)


class ChunkedResponse(Response):
    """A body that is sent chunk by chunk, as fast as the client takes it."""

    def __init__(self, body: Body, status: int, headers: Mapping[str, str], content_type: str) -> None:
        self._chunks = body if isinstance(body, list) else _slice(body)
        length = {"Content-Length": str(sum(map(len, self._chunks)))}
        super().__init__(None, status, {**length, **headers}, content_type)

    async def __call__(self, _: Scope, __: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        for number, chunk in enumerate(self._chunks, 1):
            more = number < len(self._chunks)
            await send({"type": "http.response.body", "body": chunk, "more_body": more})


def _slice(body: bytes) -> Sequence[bytes | memoryview]:
    return [memoryview(body)[at : at + CHUNK_BYTES] for at in range(0, len(body) or 1, CHUNK_BYTES)]


def handle_errors(handler: Handler) -> Handler:
    """Return the handler with its errors turned into answers."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except QueryError as error:
            return error_response(error.status, error.kind, str(error))
        except ClientDisconnect:
            return Response(status_code=499)
        except (StoreError, sqlite3.Error) as error:  # a full disk, most likely
            log.error("while answering %s: %s", request.url.path, error)
            return error_response(503, "unavailable", "vigie cannot get at its data now; its log says why")
        except Exception:  # one bad answer must not end the server
            log.exception("while answering %s", request.url.path)
            return error_response(500, "internal", "vigie could not answer; its log says why")

    return answer


def error_response(status: int, kind: str, text: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as Prometheus spells it."""
    return Response(encode_error(kind, text), status, headers, JSON)


def respond(body: Body, request: Request, content_type: str = JSON) -> Response:
    """Return an answer, compressed where the client takes that; it may be so already, or come in pieces."""
    headers = {"Vary": "Accept-Encoding"}
    if isinstance(body, list):
        return ChunkedResponse(body, 200, headers, content_type)
    if not body.startswith(GZIP_MAGIC):
        body = maybe_gzip(body, wants_gzip(request))
    if body.startswith(GZIP_MAGIC):
        headers["Content-Encoding"] = "gzip"
    return ChunkedResponse(body, 200, headers, content_type)


def wants_gzip(request: Request) -> bool:
    return accepts_gzip(request.headers.get("accept-encoding", ""))


def maybe_gzip(body: bytes, wanted: bool) -> bytes:
    """Return the body, compressed if that is wanted and worth it."""
    return compress(body) if wanted and len(body) > MIN_GZIP_BYTES else body


def encode_error(kind: str, text: str) -> bytes:
    return msgspec.json.encode(ApiError("error", kind, make_printable(text)))


def make_printable(text: str) -> str:
    """Return text that UTF-8 can hold: a name read from a file may not be."""
    return text.encode("utf-8", "replace").decode()


def respond_with_etag(
    request: Request, body: bytes, kind: str, caching: str, headers: Mapping[str, str]
) -> Response:
    """Return a body, unless the browser has that very one."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    headers = {**headers, "Cache-Control": caching, "ETag": tag}
    tags = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
    if tag in tags:
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, kind)


def split_chunks(parts: Iterable[bytes]) -> Body:
    """Return what the parts are together."""
    chunks = [b"".join(some) for some in split_batches(parts, len, CHUNK_BYTES)]
    return chunks if len(chunks) > 1 else b"".join(chunks)


def join_chunks(body: Body) -> bytes:
    return body if isinstance(body, bytes) else b"".join(body)
