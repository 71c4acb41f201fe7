"""Answers about one picture are made once for all who see everything, and not sent twice to a browser."""

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


def picture() -> Snapshot:
    return Snapshot(NOW, BatchResult({}, {}), {}, [], [], [], live=True, missing="")


def request(**headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": pairs})


class Making:
    """Makes documents, and counts them."""

    def __init__(self) -> None:
        self.made = 0
        self.fails = False

    def __call__(self) -> dict[str, Any]:
        self.made += 1
        if self.fails:
            raise ValueError("it fails")
        return {"rows": ["x"] * 1000}


def content(response: Response) -> Any:
    body = bytes(response.body)
    packed = response.headers.get("content-encoding") == "gzip"
    return json.loads(gzip.decompress(body) if packed else body)


def test_many_who_look_at_one_picture_share_one_answer() -> None:
    async def test() -> None:
        answers, make, shown = SharedResponses(), Making(), picture()
        asked = (answers.answer(request(accept_encoding="gzip"), shown, "cluster", make) for _ in range(20))
        found = await asyncio.gather(*asked)
        assert make.made == 1
        assert all(content(each) == {"rows": ["x"] * 1000} for each in found)
        await answers.answer(request(), shown, "cluster", make)  # who takes no gzip
        await answers.answer(request(), shown, "nodes", make)
        await answers.answer(request(), picture(), "cluster", make)
        assert make.made == 4

    asyncio.run(test())


def test_browser_that_has_the_answer_is_not_sent_it_again() -> None:
    async def test() -> None:
        answers, make, shown = SharedResponses(), Making(), picture()
        first = await answers.answer(request(), shown, "cluster", make)
        assert first.headers["cache-control"] == "private, no-cache"
        known = await answers.answer(request(if_none_match=first.headers["etag"]), shown, "cluster", make)
        assert (known.status_code, known.body) == (304, b"")

    asyncio.run(test())


def test_whoever_sees_pseudonyms_gets_an_answer_of_his_own() -> None:
    async def test() -> None:
        answers, make, shown = SharedResponses(), Making(), picture()
        await answers.answer(request(), shown, "cluster", make)
        sees_through(Pseudonyms(b"key", "ada"))
        await answers.answer(request(), shown, "cluster", make)
        assert make.made == 2

    asyncio.run(test())


def test_answer_that_failed_is_made_again() -> None:
    async def test() -> None:
        answers, make, shown = SharedResponses(), Making(), picture()
        make.fails = True
        with pytest.raises(ValueError, match="it fails"):
            await answers.answer(request(), shown, "cluster", make)
        make.fails = False
        assert content(await answers.answer(request(), shown, "cluster", make))

    asyncio.run(test())


def test_answers_go_with_their_picture() -> None:
    async def test() -> None:
        answers, shown = SharedResponses(), picture()
        await answers.answer(request(), shown, "cluster", Making())
        assert len(answers._kept) == 1
        del shown
        assert len(answers._kept) == 0

    asyncio.run(test())
