"""/api/v1/write: remote write 1.0 in; what is answered with 204 is synced.

Version 2.0 is answered with 415, so that a sender falls back to 1.0. Exemplars are dropped.
Of a request with native histograms, nameless series or times out of bounds the rest is stored, and the
answer is 400, which a sender does not retry. A full disk gives 503, which it does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from vigie.server.api.writer import Busy, Cannot, Rejected
from vigie.server.http import TooLarge, body_of
from vigie.sinks._protobuf import Malformed

MAX_BODY = 32 << 20
RETRY = {"Retry-After": "10"}

Write = Callable[[bytes], Awaitable[None]]


class WriteRoute:
    """Answers remote write."""

    def __init__(self, write: Write) -> None:
        self._write = write

    async def answer(self, request: Request) -> Response:
        """Take a request, and say when it is stored."""
        unknown = _unknown(request)
        if unknown:
            return PlainTextResponse(unknown + "\n", 415)
        try:
            await self._write(await body_of(request, MAX_BODY))
        except TooLarge as error:
            return PlainTextResponse(f"{error}\n", 413)
        except (Malformed, Rejected) as error:
            return PlainTextResponse(f"{error}\n", 400)
        except Busy as error:
            return PlainTextResponse(f"{error}\n", 429, RETRY)
        except Cannot as error:
            return PlainTextResponse(f"{error}\n", 503, RETRY)
        return Response(status_code=204)


def _unknown(request: Request) -> str:
    """Return what about the request is not remote write 1.0, or nothing."""
    kind, *rest = (part.strip() for part in request.headers.get("content-type", "").split(";"))
    if kind not in ("", "application/x-protobuf"):  # Prometheus, too, takes none for the usual one
        return f"{kind} is not application/x-protobuf"
    for parameter in rest:
        name, _, value = parameter.partition("=")
        if name == "proto" and value.strip('"') != "prometheus.WriteRequest":
            return f"{value} is not spoken here; send prometheus.WriteRequest, which is remote write 1.0"
    encoding = request.headers.get("content-encoding", "snappy").lower()
    return "" if encoding == "snappy" else f"{encoding} is not snappy"
