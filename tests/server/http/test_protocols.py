"""Messages that come faster than they are stored are all taken, in order; who does not read is cut off."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect

from tests.server.linking import LOAD, _Quiet, agent, heard_out, raw, run, said, serving, until
from vigie.agent.link.entries import pack_values
from vigie.model import gauge
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.http.protocols import MAX_FIRST_MESSAGE, MAX_QUEUED, LinkProtocol, UnfinishedBytes
from vigie.wire import messages, table_codec
from vigie.wire.messages import Ack, FrameMessage, Hello, TableMessage, Welcome

pytestmark = pytest.mark.process

WIDE = gauge("wide", "Many.", "n")
SERIES = 500
FRAMES = 3 * MAX_QUEUED // (8 * SERIES)  # more than may wait


def test_frames_sent_without_a_pause_are_all_acknowledged_and_stored_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, raw(place) as dialled:
            await dialled.send(messages.encode(Hello(1, "n1", "start")))
            assert isinstance(await said(dialled), Welcome)
            series = ((LOAD, ()), *((WIDE, (str(n),)) for n in range(SERIES - 1)))
            await dialled.send(messages.encode(TableMessage(0, "wide", 1, table_codec.encode_layout(series))))
            now = now_ms()
            for number in range(1, FRAMES + 1):
                values = pack_values([float(number)] * SERIES)
                frame = FrameMessage(number, now - 1000 * (FRAMES - number), 0, [(0, values)])
                await dialled.send(messages.encode(frame))
            acknowledged = 0
            while acknowledged < FRAMES:
                heard = await said(dialled)
                if isinstance(heard, Ack):
                    assert heard.sequence > acknowledged
                    acknowledged = heard.sequence
            assert list(place.samples("load", instance="n1").values()) == [
                float(number) for number in range(1, FRAMES + 1)
            ]

    run(test())


class Hasty(LinkProtocol):
    answer_seconds = 0.2


def test_who_does_not_read_is_cut_off() -> None:
    ended = asyncio.Event()

    async def talkative(_: Scope, __: Receive, send: Send) -> None:
        try:
            await send({"type": "websocket.accept"})
            while True:
                await send({"type": "websocket.send", "bytes": bytes(1 << 20)})
        finally:
            ended.set()

    async def test() -> None:
        config = uvicorn.Config(talkative, ws=Hasty, ws_ping_interval=None, lifespan="off", log_config=None)
        server = _Quiet(config)
        with socket.create_server(("127.0.0.1", 0)) as bound:
            serving = asyncio.ensure_future(server.serve([bound]))
            url = f"ws://127.0.0.1:{bound.getsockname()[1]}"
            async with connect(url, proxy=None, compression=None, max_queue=1, close_timeout=0):
                await ended.wait()
            server.should_exit = True
            await serving

    run(test())


def unfinished(size: int) -> bytes:
    """Return the head of a message of so many bytes, and most of it."""
    return b"\x82\xff" + size.to_bytes(8, "big") + bytes(4) + bytes(size - 1)


async def hold(dialled: ClientConnection, size: int) -> None:
    dialled.transport.write(unfinished(size))


def test_first_message_of_a_link_is_short(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, raw(place) as dialled:
            await hold(dialled, MAX_FIRST_MESSAGE + 1)
            await heard_out(dialled)
            assert dialled.close_code == 1009

    run(test())


def test_who_holds_most_of_unfinished_messages_is_cut_off_and_nobody_else(tmp_path: Path) -> None:
    LinkProtocol.unfinished, before = UnfinishedBytes(3 << 20), LinkProtocol.unfinished

    async def test() -> None:
        async with (
            serving(tmp_path / "s") as place,
            agent(place, tmp_path, "n1") as honest,
            raw(place) as some,
            raw(place) as most,
        ):
            await honest.connected()
            for name, dialled in (("n2", some), ("n3", most)):
                await dialled.send(messages.encode(Hello(1, name, "start")))
                assert isinstance(await said(dialled), Welcome)
            await hold(some, 1 << 20)
            await hold(most, 4 << 20)
            await heard_out(most)
            assert some.state.name == "OPEN"
            honest.send(1.0)
            await honest.acknowledged()
            await until(lambda: place.hub.links.connected == 2)

    try:
        run(test())
    finally:
        LinkProtocol.unfinished = before
