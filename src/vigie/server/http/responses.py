"""What a question gives: bytes, or pieces of them where these are many, so that they are copied only once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from starlette.requests import Request
from starlette.responses import Response

from vigie.query.block_batches import split_batches

PIECE = 256 << 10  # bytes handed over at a time: asyncio copies what the network does not take yet
Body = bytes | list[bytes]


def respond_with_etag(
    request: Request, body: bytes, kind: str, caching: str, headers: Mapping[str, str]
) -> Response:
    """Return a body, unless the browser has that very one."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    headers = {**headers, "Cache-Control": caching, "ETag": tag}
    known = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
    if tag in known:
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, kind)


def split_chunks(parts: Iterable[bytes]) -> Body:
    """Return what the parts are together."""
    pieces = [b"".join(some) for some in split_batches(parts, len, PIECE)]
    return pieces if len(pieces) > 1 else b"".join(pieces)


def join_chunks(body: Body) -> bytes:
    return body if isinstance(body, bytes) else b"".join(body)
