"""Pages of one snapshot are built once for all who see everything, and not sent twice to a browser."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from tests.server.pages.place import NOW
from vigie.server.api.pages import SharedResponses
from vigie.server.pages.query_batch import BatchResult
from vigie.server.pages.snapshot import Snapshot
from vigie.server.privacy.redactor import Pseudonyms, sees_through
from vigie.wire.api.pages import Page
from vigie.wire.api.rows import Verdict

SENTENCE = "It is well. " * 200


def snapshot() -> Snapshot:
    return Snapshot(NOW, BatchResult({}, {}), {}, [], [], [], live=True, missing="")


def request(**headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": pairs})


class Builder:
    """Builds pages, and counts them."""

    def __init__(self) -> None:
        self.count = 0
        self.fails = False

    def __call__(self) -> Page:
        self.count += 1
        if self.fails:
            raise ValueError("it fails")
        return Page(NOW, Verdict("ok", SENTENCE))


def content(response: Response) -> Any:
    body = bytes(response.body)
    packed = response.headers.get("content-encoding") == "gzip"
    return json.loads(gzip.decompress(body) if packed else body)


def test_many_who_look_at_one_snapshot_share_one_page() -> None:
    async def test() -> None:
        shared, build, shown = SharedResponses(), Builder(), snapshot()
        asked = (shared.respond(request(accept_encoding="gzip"), shown, "cluster", build) for _ in range(20))
        found = await asyncio.gather(*asked)
        assert build.count == 1
        assert all(content(each)["verdict"]["sentence"] == SENTENCE for each in found)
        await shared.respond(request(), shown, "cluster", build)  # who takes no gzip
        await shared.respond(request(), shown, "nodes", build)
        await shared.respond(request(), snapshot(), "cluster", build)
        assert build.count == 4

    asyncio.run(test())


def test_browser_that_has_the_answer_is_not_sent_it_again() -> None:
    async def test() -> None:
        shared, build, shown = SharedResponses(), Builder(), snapshot()
        first = await shared.respond(request(), shown, "cluster", build)
        assert first.headers["cache-control"] == "private, no-cache"
        known = await shared.respond(request(if_none_match=first.headers["etag"]), shown, "cluster", build)
        assert (known.status_code, known.body) == (304, b"")

    asyncio.run(test())


def test_whoever_sees_pseudonyms_gets_an_answer_of_his_own() -> None:
    async def test() -> None:
        shared, build, shown = SharedResponses(), Builder(), snapshot()
        await shared.respond(request(), shown, "cluster", build)
        sees_through(Pseudonyms(b"key", "ada"))
        await shared.respond(request(), shown, "cluster", build)
        assert build.count == 2

    asyncio.run(test())


def test_answer_that_failed_is_made_again() -> None:
    async def test() -> None:
        shared, build, shown = SharedResponses(), Builder(), snapshot()
        build.fails = True
        with pytest.raises(ValueError, match="it fails"):
            await shared.respond(request(), shown, "cluster", build)
        build.fails = False
        assert content(await shared.respond(request(), shown, "cluster", build))

    asyncio.run(test())


def test_answers_go_with_their_snapshot() -> None:
    async def test() -> None:
        shared, shown = SharedResponses(), snapshot()
        await shared.respond(request(), shown, "cluster", Builder())
        assert len(shared._tasks) == 1
        del shown
        assert len(shared._tasks) == 0

    asyncio.run(test())
