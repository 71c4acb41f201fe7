"""Exporters on this node are found by what they say, passed on with each frame, and missed when they go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from vigie.agent.exporters.catalog import Exporter, is_exporter, parse_exporters
from vigie.agent.exporters.client import ExporterUnreachableError, fetch
from vigie.agent.exporters.relay import MAX_FAILURES, OTHER_PROGRAM_SECONDS, PROBE_SECONDS, Relay
from vigie.model import Frame

SAYS = "HTTP/1.0 200 OK\r\n\r\nnode_exporter_build_info 1\nnode_load1 0.5\n"


class Peer:
    """Answers on a port as it is told, or hangs up."""

    def __init__(self) -> None:
        self.answer, self.asked, self.port = SAYS, 0, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer.encode("utf-8", "surrogateescape"))
        writer.close()


@asynccontextmanager
async def listening() -> AsyncIterator[Peer]:
    peer = Peer()
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    async with server:
        peer.port = server.sockets[0].getsockname()[1]
        yield peer


class Scene:
    """A relay that looks at one port, with a clock in our hands."""

    def __init__(self, port: int) -> None:
        self.now = 0.0
        self.frames: list[Frame] = []
        exporter = Exporter("node-exporter", port, "node_exporter_build_info")
        self.relay = Relay([exporter], [self.frames.append], lambda: self.now)

    async def tick(self, time_ms: int) -> dict[str, float] | None:
        """Return by name what came of a frame."""
        self.frames.clear()
        self.relay(Frame(time_ms, ()))
        assert self.relay._reading is not None
        await self.relay._reading
        if not self.frames:
            return None
        (frame,) = self.frames
        ((table, values),) = frame.parts
        assert (frame.time_ms, table.source) == (time_ms, "exporter/node-exporter")
        return {metric.name: value for (metric, _), value in zip(table.series, values, strict=True)}


def with_peer(test: Callable[[Peer, Scene], object]) -> None:
    async def scene() -> None:
        async with asyncio.timeout(60), listening() as peer:
            await test(peer, Scene(peer.port))  # type: ignore[misc]

    asyncio.run(scene())


def test_exporter_is_found_and_read_at_each_frame_with_a_report() -> None:
    async def test(peer: Peer, scene: Scene) -> None:
        first = await scene.tick(1000)
        assert first is not None
        assert (first["up"], first["node_load1"], first["scrape_samples_scraped"]) == (1.0, 0.5, 2.0)
        peer.answer = SAYS.replace("0.5", "0.7")
        second = await scene.tick(2000)
        assert second is not None
        assert second["node_load1"] == 0.7

    with_peer(test)


def test_exporter_that_fails_is_down_and_is_forgotten_after_a_while() -> None:
    async def test(peer: Peer, scene: Scene) -> None:
        await scene.tick(0)
        peer.answer = ""
        for tick in range(1, MAX_FAILURES + 1):
            found = await scene.tick(tick)
            assert found is not None
            assert (found["up"], len(found)) == (0.0, 3)
        assert await scene.tick(99) == {}  # an empty table: everything has ended
        assert await scene.tick(100) is None
        peer.answer = SAYS
        scene.now += PROBE_SECONDS
        found = await scene.tick(101)
        assert found is not None
        assert found["up"] == 1.0

    with_peer(test)


@pytest.mark.parametrize(
    "says",
    [
        "HTTP/1.0 404 Not Found\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n<html>",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "",
        "HTTP/1.0 200 OK\r\n\r\n\udcff\udcff",
        # An agent of vigie on the port of a node exporter, which may be this one.
        SAYS + "vigie_agent_series 5\n",
    ],
)
def test_stranger_on_the_port_is_left_alone_and_seldom_asked(says: str) -> None:
    async def test(peer: Peer, scene: Scene) -> None:
        peer.answer = says
        for tick in range(20):
            assert await scene.tick(tick) is None
            scene.now += PROBE_SECONDS / 20 - 0.001
        assert peer.asked == 1
        scene.now += OTHER_PROGRAM_SECONDS
        assert await scene.tick(50) is None
        assert peer.asked == 2

    with_peer(test)


def test_port_on_which_nobody_listens_is_looked_at_once_a_minute() -> None:
    async def test(peer: Peer, scene: Scene) -> None:
        scene = Scene(1)
        assert await scene.tick(0) is None
        assert await scene.tick(1) is None

    with_peer(test)


def test_answer_that_never_ends_is_cut_short() -> None:
    async def test() -> None:
        left = asyncio.Event()

        async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.0 200 OK\r\n\r\n")
            await reader.read()  # until the other side leaves
            writer.close()
            await writer.wait_closed()
            left.set()

        async with await asyncio.start_server(endless, "127.0.0.1", 0) as server:
            with pytest.raises(ExporterUnreachableError, match="timed out"):
                await fetch(server.sockets[0].getsockname()[1], 0.05)
            await left.wait()

    asyncio.run(test())


def test_exporters_are_named_with_a_port() -> None:
    assert parse_exporters(["triton=8002"]) == [Exporter("triton", 8002, "nv_", serves=True)]
    for bad in ("triton", "triton=0", "triton=x", "mine=9100", "triton=99999"):
        with pytest.raises(ValueError, match="NAME=PORT"):
            parse_exporters([bad])
    assert [one.port for one in parse_exporters(["vllm=8000", "vllm=8001"])] == [8000, 8001]
    with pytest.raises(ValueError, match="twice"):
        parse_exporters(["cadvisor=8080", "cadvisor=8081"])
    assert is_exporter(
        parse_exporters(["dcgm-exporter=9400"])[0], '# TYPE x\nDCGM_FI_DEV_GPU_TEMP{gpu="0"} 30\n'
    )
