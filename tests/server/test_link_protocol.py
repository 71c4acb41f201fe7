"""Messages that come faster than they are stored are all taken, in order, and few wait in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.linking import LOAD, raw, run, said, serving
from vigie.agent.link import layouts, messages
from vigie.agent.link.entries import packed
from vigie.agent.link.messages import Ack, Frame, Hello, Table, Welcome
from vigie.model import gauge
from vigie.server.api.queries import now_ms
from vigie.server.link.protocol import AHEAD

pytestmark = pytest.mark.process

WIDE = gauge("wide", "Many.", "n")
SERIES = 500
FRAMES = 3 * AHEAD // (8 * SERIES)  # more than may wait


def test_frames_sent_without_a_pause_are_all_acknowledged_and_stored_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, raw(place) as socket:
            await socket.send(messages.encode(Hello(1, "n1", "start")))
            assert isinstance(await said(socket), Welcome)
            series = ((LOAD, ()), *((WIDE, (str(n),)) for n in range(SERIES - 1)))
            await socket.send(messages.encode(Table(0, "wide", 1, layouts.pack(series))))
            now = now_ms()
            for number in range(1, FRAMES + 1):
                values = packed([float(number)] * SERIES)
                frame = Frame(number, now - 1000 * (FRAMES - number), 0, [(0, values)])
                await socket.send(messages.encode(frame))
            acknowledged = 0
            while acknowledged < FRAMES:
                heard = await said(socket)
                if isinstance(heard, Ack):
                    assert heard.sequence > acknowledged
                    acknowledged = heard.sequence
            assert list(place.samples("load", instance="n1").values()) == [
                float(number) for number in range(1, FRAMES + 1)
            ]

    run(test())
