"""Answers that all who look get alike: made once for each picture, beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from vigie.server.access.privacy import current_mask
from vigie.server.etags import unless_known
from vigie.server.http import GZIP_MAGIC, JSON, packed, wants_gzip
from vigie.server.outlook.picture import Picture

Make = Callable[[], dict[str, Any]]


class Answers:
    """Keeps the answers about each picture for as long as somebody keeps the picture."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Picture, dict[tuple[str, bool], asyncio.Task[bytes]]] = (
            WeakKeyDictionary()
        )

    async def answer(self, request: Request, picture: Picture, name: str, make: Make) -> Response:
        """Return a page about a picture; whoever sees others' names as pseudonyms gets one of his own."""
        gzip = wants_gzip(request)
        if current_mask():
            body = await asyncio.to_thread(_made, make, gzip)
        else:
            # Whoever leaves first must not take the answer away from the others who wait for it.
            body = await asyncio.shield(self._making(picture, name, gzip, make))
        headers = {"Vary": "Accept-Encoding"}
        if body.startswith(GZIP_MAGIC):
            headers["Content-Encoding"] = "gzip"
        return unless_known(request, body, JSON, "private, no-cache", headers)

    def _making(self, picture: Picture, name: str, gzip: bool, make: Make) -> asyncio.Task[bytes]:
        kept = self._kept.setdefault(picture, {})
        task = kept.get((name, gzip))
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = kept[name, gzip] = asyncio.ensure_future(asyncio.to_thread(_made, make, gzip))
        return task


def _made(make: Make, gzip: bool) -> bytes:
    return packed(msgspec.json.encode(make()), gzip)
