"""A long body goes out in pieces, and comes in whole."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message

from vigie.server.http.responses import CHUNK_BYTES, ChunkedResponse, join_chunks, split_chunks


async def _messages(answer: ChunkedResponse) -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await answer({"type": "http"}, receive, send)
    return sent


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
def test_a_body_goes_out_in_pieces_and_the_last_says_so(size: int) -> None:
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    start, *pieces = asyncio.run(_messages(ChunkedResponse(body, 203, {"Vary": "Accept"}, "text/plain")))
    assert (start["status"], dict(start["headers"])[b"content-length"]) == (203, b"%d" % size)
    assert b"".join(piece["body"] for piece in pieces) == body
    assert all(len(piece["body"]) <= CHUNK_BYTES for piece in pieces)
    assert [piece["more_body"] for piece in pieces] == [True] * (len(pieces) - 1) + [False]


def test_pieces_go_out_as_they_are() -> None:
    pieces = [b"a" * 3, b"b" * CHUNK_BYTES, b"c"]
    start, *sent = asyncio.run(_messages(ChunkedResponse(list(pieces), 200, {}, "text/plain")))
    assert dict(start["headers"])[b"content-length"] == b"%d" % (CHUNK_BYTES + 4)
    assert [(each["body"], each["more_body"]) for each in sent] == [
        (piece, piece != pieces[-1]) for piece in pieces
    ]


@pytest.mark.parametrize(
    "parts", [[], [b"one"], [b"one", b"two"], [b"1" * CHUNK_BYTES, b"2"], [b"3"] * (CHUNK_BYTES + 1)]
)
def test_parts_are_put_together_to_pieces(parts: list[bytes]) -> None:
    body = split_chunks(parts)
    assert join_chunks(body) == b"".join(parts)
    assert isinstance(body, bytes) or all(len(piece) >= CHUNK_BYTES for piece in body[:-1])
