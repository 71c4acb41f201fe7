"""Agents and a server: what is acknowledged is stored, once, under the right name and time."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.server.linking import (
    BUSY,
    ONE,
    Agent,
    Place,
    agent,
    heard_out,
    introduction,
    raw,
    run,
    said,
    serving,
    table,
    until,
)
from vigie.agent.link.commands import CommandRunner
from vigie.agent.link.entries import EncodedFrame, pack_values
from vigie.model import ABSENT, Binding, Event
from vigie.model import Frame as ModelFrame
from vigie.server.api.prometheus.queries import now_ms
from vigie.sources._gpu import INFO
from vigie.sources._kernel_patterns import match_line
from vigie.wire import messages
from vigie.wire.messages import Ack, Command, FrameMessage, Goodbye, Hello, Welcome

pytestmark = pytest.mark.process


def test_frames_are_stored_under_the_nodes_name_with_up(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            times = [n1.send(0.5, at=now_ms() - back) for back in (20_000, 10_000, 0)]
            await n1.acknowledged()
            assert list(place.samples("load", instance="n1", job="node")) == times
            assert place.samples("up", instance="n1", job="node") == dict.fromkeys(times, 1.0)
            assert place.state("n1") == "up"

    run(test())


def test_joining_gives_a_key_that_is_enough_from_then_on(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            async with agent(place, tmp_path, "n1") as n1:
                await n1.connected()
            assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
            assert place.state("n1") == "stopped"
            async with agent(place, tmp_path, "n1", token="") as n1:
                await n1.connected()
            await until(lambda: place.events("node_joined"))
            assert [kept.event.kind for kept in place.events("node_joined")] == ["node_joined"]
            assert place.events("node_rejoined") == []

    run(test())


def test_table_that_changes_is_told_as_a_difference_and_series_end(tmp_path: Path) -> None:
    wide = table("cpu", *((BUSY, (str(i),)) for i in range(8)))
    less = table("cpu", *((BUSY, (str(i),)) for i in range(7)), version=2)

    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            first = n1.send(*range(8), at=now_ms() - 1000, table=wide)
            second = n1.send(*range(7), table=less)
            await n1.acknowledged()
            assert list(place.samples("busy", cpu="6")) == [first, second]
            assert list(place.samples("busy", cpu="7")) == [first]

    run(test())


def test_absent_values_stay_absent(tmp_path: Path) -> None:
    both = table("cpu", (BUSY, ("0",)), (BUSY, ("1",)))

    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            n1.send(1.0, ABSENT, table=both)
            await n1.acknowledged()
            assert len(place.samples("busy", cpu="0")) == 1
            assert place.samples("busy", cpu="1") == {}

    run(test())


def test_server_that_comes_back_gets_what_it_missed_and_nothing_twice(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            n1 = Agent(place, tmp_path, introduction("n1"))
            times = [n1.send(1.0, at=now_ms() - 5000)]
            await n1.acknowledged()
        times += [n1.send(1.0, at=times[0] + 1000 * later) for later in (1, 2, 3)]
        async with serving(tmp_path / "s", place.port) as again:
            times += [n1.send(1.0)]
            await n1.acknowledged()
            assert list(again.samples("up", instance="n1")) == times
            await n1.stop()

    run(test())


def test_event_of_a_node_is_kept_once_however_often_it_comes(tmp_path: Path) -> None:
    happened = Event("xid", 1000, "it fell off the bus", {"gpu": "0", "node": "a-lie"}, severity="critical")

    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            for event in (happened, happened, happened._replace(end_ms=2000)):
                n1.link.record_event(event)
            await n1.acknowledged()
            (kept,) = place.events("xid")
            assert kept.event == happened._replace(end_ms=2000, where={"gpu": "0", "node": "n1"})

    run(test())


def test_frame_that_cannot_be_stored_is_acknowledged_with_the_reason(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            n1.link.buffer.put(EncodedFrame(1000, 0, ((ONE, pack_values([1.0])),)))
            n1.send(1.0)
            await n1.acknowledged()
            assert n1.link.counters.refused == 1
            assert place.hub.counts.refused == 1
            assert len(place.samples("load")) == 1

    run(test())


def test_older_agent_that_says_only_who_it_is_is_welcome(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, raw(place) as socket:
            older = {"type": "hello", "protocol": 1, "node": "n1", "start": "s"}
            await socket.send(msgspec.msgpack.encode(older))
            welcome = await said(socket)
            assert isinstance(welcome, Welcome)
            assert welcome.protocol == 1
            await socket.send(msgspec.msgpack.encode({"type": "song", "verse": 1}))
            await socket.send(messages.encode(FrameMessage(1, now_ms(), 0, [])))
            while not isinstance(message := await said(socket), Ack):
                assert isinstance(message, Command)
            assert message.sequence == 1
            assert len(place.samples("up", instance="n1")) == 1

    run(test())


def test_strangers_and_other_roles_do_not_get_in(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            admin = (tmp_path / "s" / "server-token").read_text().strip()
            for token, status in (("nobody's", 401), (admin, 403)):
                with pytest.raises(InvalidStatus) as refused:
                    async with raw(place, token):
                        pass
                assert refused.value.response.status_code == status

    run(test())


def test_key_of_one_node_does_not_write_as_another(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            key = place.secrets.new_node_key("n1")
            async with raw(place, key) as socket:
                await socket.send(messages.encode(Hello(1, "n2", "s")))
                goodbye = await said(socket)
                assert isinstance(goodbye, Goodbye)
                assert "this key is of n1, not of n2" in goodbye.reason
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
            assert place.state("n2") == "unknown"

    run(test())


JUNK = st.lists(st.binary(max_size=40) | st.text(max_size=10), max_size=3)


@settings(max_examples=2)
@given(st.lists(st.tuples(JUNK, st.booleans()), min_size=20, max_size=20))
def test_junk_closes_that_connection_only(
    tmp_path_factory: pytest.TempPathFactory, attempts: list[tuple[list[bytes | str], bool]]
) -> None:
    home = tmp_path_factory.mktemp("junk")

    async def test() -> None:
        async with serving(home / "s") as place, agent(place, home, "n1") as n1:
            await n1.connected()
            for junk, hello in attempts:
                async with raw(place) as socket:
                    await _junk(socket, junk, hello)
            n1.send(1.0)
            await n1.acknowledged()
            assert n1.link.counters.connections == 1

    run(test())


async def _junk(socket: ClientConnection, junk: list[bytes | str], hello: bool) -> None:
    if hello:
        await socket.send(messages.encode(Hello(1, "n2", "s")))
    with contextlib.suppress(ConnectionClosed):
        for data in [*junk, b"\xc1"]:  # a byte that msgpack never uses
            await socket.send(data)
    await heard_out(socket)


def test_lying_frames_close_the_connection(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            for parts in ([(0, b"")], [(5, b"12345678")]):
                async with raw(place) as socket:
                    await socket.send(messages.encode(Hello(1, "n1", "s")))
                    await until(lambda: place.hub.links.connected == 1)
                    await socket.send(messages.encode(FrameMessage(1, now_ms(), 0, parts)))
                    await heard_out(socket)
                await until(lambda: place.hub.links.connected == 0)

    run(test())


def test_agent_whose_key_cannot_be_saved_is_told_to_come_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            place.secrets._file._connection.execute("pragma query_only = on")
            async with raw(place) as socket:
                await socket.send(messages.encode(Hello(1, "n1", "start")))
                reason = await said(socket)
                assert isinstance(reason, Goodbye)
                assert "nothing can be stored now" in reason.reason
                await heard_out(socket)
                assert socket.close_code == 1013
            place.secrets._file._connection.execute("pragma query_only = off")
            async with agent(place, tmp_path, "n1") as n1:
                await n1.connected()

    run(test())


def test_driver_that_is_loaded_later_is_told_on_the_same_connection(tmp_path: Path) -> None:
    def gpus(place: Place) -> str | None:
        node = place.hub.nodes.find("n1")
        return node.expected.get("gpus") if node else None

    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            me = introduction("n1")._replace(sysfs=tmp_path / "sys")
            n1 = await Agent(place, tmp_path, me).connected()
            assert gpus(place) is None
            (tmp_path / "sys/bus/pci/drivers/nvidia/0000:01:00.0").mkdir(parents=True)
            n1.link._inventory_due = 0.0
            await until(lambda: gpus(place) == "1")
            assert n1.link.counters.connections == 1
            await n1.stop()

    run(test())


def test_fault_of_ours_does_not_end_a_link_for_good(tmp_path: Path) -> None:
    class Faulty(CommandRunner):
        def start(self, command: Command, _: object) -> None:
            raise IndexError(f"no place for {command.name}")

    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            n1 = Agent(place, tmp_path, introduction("n1"), commands=Faulty())
            await until(lambda: "internal error: no place for ping" in n1.link.state()["trouble"])
            assert not n1._running.done()
            await n1.stop()

    run(test())


def test_removed_node_keeps_nothing_for_a_server_that_does_not_want_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            n1 = await Agent(place, tmp_path, introduction("n1")).connected()
            place.hub.links.remove("n1")
            await n1.ended()
            n1.send(1.0)
            n1.link.record_event(Event("oom", 1, "it happened"))
            n1.link.replace_held([Binding("gpu:0", "job", "1", 1)], [])
            assert n1.link.buffer.in_memory == 0

    run(test())


def test_what_was_dropped_while_the_server_was_away_is_told_when_it_is_back(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            n1 = Agent(place, tmp_path, introduction("n1"))
            await n1.connected()
        n1.link.buffer._max_bytes = 3000
        for later in range(50):
            n1.send(1.0, at=now_ms() + later)
        async with serving(tmp_path / "s", place.port) as again:
            await until(lambda: again.events("frames_dropped"))
            await n1.acknowledged()
            (told,) = again.events("frames_dropped")
            assert "frames dropped" in told.event.what
            assert told.event.where == {"node": "n1"}
            assert len(again.samples("load")) == 50 - n1.link.buffer.dropped
            await n1.stop()

    run(test())


class Elsewhere:
    """Writes down what is passed on."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, int, tuple[float, ...]]] = []
        self.ended: list[str] = []

    def write_frame(self, target: Mapping[str, str], frame: ModelFrame) -> None:
        node = target["instance"]
        self.frames += [(node, frame.time_ms, values) for table, values in frame.parts if table == ONE]

    def end(self, target: Mapping[str, str]) -> None:
        self.ended.append(target["job"])


def test_frames_are_passed_on_and_the_series_of_a_stopped_node_end_there(tmp_path: Path) -> None:
    elsewhere = Elsewhere()

    async def test() -> None:
        async with serving(tmp_path / "s", pass_on=elsewhere) as place:
            async with agent(place, tmp_path, "n1") as n1:
                made = n1.send(0.5)
                await n1.acknowledged()
            await until(lambda: elsewhere.ended)
            assert elsewhere.frames == [("n1", made, (0.5,))]
            assert elsewhere.ended == ["node"]

    run(test())


@pytest.mark.parametrize("lost", [True, False])
def test_series_of_a_node_that_is_lost_or_removed_end_where_they_are_passed_on(
    tmp_path: Path, lost: bool
) -> None:
    elsewhere = Elsewhere()
    ahead = 0

    async def test() -> None:
        nonlocal ahead
        async with serving(tmp_path / "s", pass_on=elsewhere, clock=lambda: now_ms() + ahead) as place:
            n1 = await Agent(place, tmp_path, introduction("n1")).connected()
            n1.send(0.5)
            await n1.acknowledged()
            if lost:
                ahead = 120_000
            else:
                place.hub.links.remove("n1")
                await n1.ended()
            await until(lambda: elsewhere.ended)
            assert elsewhere.ended == ["node"]
            await n1.stop()

    run(test())


KERNEL_LINE = "NVRM: Xid (PCI:0000:c1:00): 79, pid=1234, name=python, GPU has fallen off the bus."
GPU_TABLE = table("nvidia", (INFO, ("3", "GPU-1", "nvidia", "H100", "00000000:C1:00.0", "570")))


def kernel_xid(begin_ms: int) -> Event:
    """Return the event that the kernel log source reports: it knows only the PCI address."""
    match = match_line(KERNEL_LINE)
    assert match is not None
    assert "gpu" not in match.where
    return Event(match.kind, begin_ms, match.what, match.where, None, match.severity)


def test_xid_of_the_kernel_log_is_stored_with_the_index_of_its_gpu(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "server") as place, agent(place, tmp_path, "n1") as n1:
            n1.link.record_event(kernel_xid(1000))  # before the server knows of any GPU
            await n1.acknowledged()
            n1.send(1.0, table=GPU_TABLE)
            n1.link.record_event(kernel_xid(2000))
            await n1.acknowledged()
            n1.send(1.0)  # a GPU that is lost is in no table any more
            n1.link.record_event(kernel_xid(3000))
            await n1.acknowledged()
            await until(lambda: all(kept.event.where.get("gpu") == "3" for kept in place.events("xid")))
            assert [kept.event.begin_ms for kept in place.events("xid")] == [3000, 2000, 1000]
            n1.link.record_event(Event("link_down", 4000, "down", {"pci_bus_id": "00000000:02:00.0"}))
            await n1.acknowledged()
            assert "gpu" not in place.events("link_down")[0].event.where

    run(test())
