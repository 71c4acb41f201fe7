"""Who is who: lost keys, clones, new names and addresses, and clocks that are wrong."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from tests.server.linking import ONE, agent, introduction, raw, run, said, serving, until
from vigie.agent.link.entries import EncodedFrame, pack_values
from vigie.agent.link.hello import uptime_ms
from vigie.server.api.prometheus.queries import now_ms
from vigie.wire import messages, table_codec
from vigie.wire.messages import FrameMessage, Goodbye, Hello, TableMessage, Welcome

pytestmark = pytest.mark.process

HOUR = 3_600_000


def test_second_live_agent_of_a_name_is_refused_with_both_named(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            await n1.connected()
            async with raw(place) as socket:
                await socket.send(messages.encode(Hello(1, "n1", "another-start", host="impostor")))
                goodbye = await said(socket)
            assert isinstance(goodbye, Goodbye)
            assert "node n1 is connected already" in goodbye.reason
            assert "host impostor" in goodbye.reason
            assert goodbye.reason.count("127.0.0.1") == 2
            n1.send(1.0)
            await n1.acknowledged()
            assert n1.link.counters.connections == 1

    run(test())


def test_connection_that_does_not_answer_any_more_gives_way(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s", answer_seconds=0.05) as place, raw(place) as dead:
            await dead.send(messages.encode(Hello(1, "n1", "before-the-power-cut")))
            assert isinstance(await said(dead), Welcome)
            async with agent(place, tmp_path, "n1") as n1:
                await n1.connected()
                n1.send(1.0)
                await n1.acknowledged()
                assert place.hub.links.connected == 1

    run(test())


def test_same_agent_that_dials_again_takes_its_own_place(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s", answer_seconds=60) as place, raw(place) as first:
            await first.send(messages.encode(Hello(1, "n1", "one-start")))
            assert isinstance(await said(first), Welcome)
            async with raw(place) as second:
                await second.send(messages.encode(Hello(1, "n1", "one-start")))
                assert isinstance(await said(second), Welcome)
                await until(lambda: place.hub.links.connected == 1)

    run(test())


def test_diskless_node_takes_its_name_back_with_the_join_token(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            for home in ("boot1", "boot2"):  # its key is gone with the first boot
                async with agent(place, tmp_path / home, "n1", start=home) as n1:
                    await n1.connected()
            await until(lambda: place.events("node_rejoined"))
            (rejoined,) = place.events("node_rejoined")
            assert rejoined.event.where == {"node": "n1"}
            assert len(place.hub.nodes.nodes()) == 1

    run(test())


def test_node_that_cannot_keep_its_key_joins_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path / "file", "n1") as n1:
            n1.send(1.0)
            await n1.acknowledged()
            assert len(place.samples("load")) == 1

    run(test())


def test_cloned_machine_id_is_told_and_both_are_taken(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            serving(tmp_path / "s") as place,
            agent(place, tmp_path / "a", "n1", machine_id="same") as n1,
        ):
            await n1.connected()
            async with agent(place, tmp_path / "b", "n2", machine_id="same") as n2:
                await n2.connected()
                assert place.hub.links.connected == 2
                await until(lambda: place.events("machine_id_cloned"))

    run(test())


def test_changed_host_name_joins_anew_and_the_old_name_is_told(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            async with agent(place, tmp_path, "old", machine_id="m") as before:
                await before.connected()
            # The key is of the old name: it is refused, and the join token is tried.
            async with agent(place, tmp_path, "new", machine_id="m") as after:
                await after.connected()
            await until(lambda: place.events("node_renamed"))
            (renamed,) = place.events("node_renamed")
            assert renamed.event.where == {"node": "new"}
            assert "was old before" in renamed.event.what
            async with agent(place, tmp_path, "new", token="") as after:
                await after.connected()

    run(test())


def test_removed_node_stays_out_until_it_is_added_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            async with agent(place, tmp_path, "n1") as n1:
                await n1.connected()
                assert place.hub.links.remove("n1")
                await n1.ended()
                n1.send(1.0)
                assert n1.link.buffer.in_memory == 0
            assert place.state("n1") == "removed"
            async with raw(place) as socket:  # with the join token, which is for new nodes
                await socket.send(messages.encode(Hello(1, "n1", "anew")))
                goodbye = await said(socket)
            assert isinstance(goodbye, Goodbye)
            assert "vigie nodes add n1" in goodbye.reason
            place.hub.links.add("n1")
            async with agent(place, tmp_path, "n1", start="anew") as n1:  # its key is void, the token is not
                await n1.connected()
                assert place.state("n1") == "up"

    run(test())


def test_node_that_was_removed_while_it_was_away_stays_out_with_whatever_it_shows(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            async with agent(place, tmp_path, "n1") as n1:
                await n1.connected()
            assert place.hub.links.remove("n1")
            async with agent(place, tmp_path, "n1", start="anew") as n1:  # it has its old key and the token
                await until(lambda: n1.link._attempt >= 2)
                assert n1.link.counters.connections == 0
                assert place.state("n1") == "removed"
                place.hub.links.add("n1")
                await n1.connected()  # by itself, as the token is good again
            assert place.state("n1") == "stopped"

    run(test())


def test_added_node_comes_with_its_own_key_and_keeps_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            key = place.hub.links.add("n1")
            assert place.state("n1") == "added"
            async with agent(place, tmp_path, "n1", token=key) as n1:
                await n1.connected()
            assert (tmp_path / "key").read_text().strip() == key
            async with agent(place, tmp_path, "n1", token="") as n1:
                await n1.connected()
            await until(lambda: place.events("node_joined"))
            assert place.events("node_rejoined") == []

    run(test())


def test_lost_key_without_the_join_token_is_refused_and_told_what_to_do(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            async with agent(place, tmp_path, "n1") as n1:
                await n1.connected()
            (tmp_path / "key").unlink()
            async with agent(place, tmp_path, "n1", token="") as n1:
                await until(lambda: "nodes join" in n1.link._log_change.text)
                assert n1.link.counters.connections == 0

    run(test())


def test_changed_address_is_told_and_the_node_stays_who_it_is(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            for address in ("10.0.0.1", "10.0.0.2"):
                async with raw(place) as socket:
                    hello = Hello(1, "n1", "one-start", addresses=[address])
                    await socket.send(messages.encode(hello))
                    assert isinstance(await said(socket), Welcome)
            await until(lambda: place.events("address_changed"))
            (changed,) = place.events("address_changed")
            assert changed.event.what == "from 127.0.0.1, 10.0.0.1 to 127.0.0.1, 10.0.0.2"
            assert [node.name for node in place.hub.nodes.nodes()] == ["n1"]

    run(test())


def test_clock_one_hour_off_is_corrected_and_told(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            now, up = now_ms(), uptime_ms()
            for back in (20_000, 10_000, 0):
                n1.link.buffer.put(EncodedFrame(now + HOUR - back, up - back, ((ONE, pack_values([1.0])),)))
            await n1.acknowledged()
            times = list(place.samples("load"))
            assert len(times) == 3
            assert abs(times[-1] - now) < 2000
            assert [b - a for a, b in itertools.pairwise(times)] == [10_000, 10_000]
            (told,) = place.events("clock_off")
            assert "by +3600 s" in told.event.what
            offsets = place.samples("vigie_node_clock_offset_seconds").values()
            assert all(3598 < offset < 3602 for offset in offsets)

    run(test())


def test_clock_that_is_stepped_back_leaves_no_hole_and_no_double(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            now, up = now_ms(), uptime_ms()
            for back, wrong in ((30_000, HOUR), (20_000, HOUR), (10_000, 0), (0, 0)):
                n1.link.buffer.put(EncodedFrame(now + wrong - back, up - back, ((ONE, pack_values([1.0])),)))
            await n1.acknowledged()
            times = list(place.samples("load"))
            assert all(abs(b - a - 10_000) < 2000 for a, b in itertools.pairwise(times))
            assert len(times) == 4
            assert [kept.event.severity for kept in place.events("clock_off")] == ["info", "warning"]

    run(test())


def test_replay_of_a_wrong_clock_after_a_restart_stores_nothing_twice(tmp_path: Path) -> None:
    """The frame is sent over two connections to two servers; the second measures the clock anew."""
    hello = Hello(1, "n1", "s", boot_id="b", uptime_ms=1_000_000)

    async def test() -> None:
        made = now_ms()
        for _ in range(2):
            async with serving(tmp_path / "s") as place, raw(place) as socket:
                await socket.send(messages.encode(hello))
                await socket.send(messages.encode(TableMessage(0, "one", 1, _layout())))
                frame = FrameMessage(1, made + HOUR, 1_000_000, [(0, pack_values([1.0]))])
                await socket.send(messages.encode(frame))
                await until(lambda: place.hub.counts.frames)
                await until(lambda: place.samples("load"))
                assert len(place.samples("load")) == 1

    run(test())


def _layout() -> bytes:
    return table_codec.encode_layout(ONE.series)


def test_introduction_tells_what_the_machine_has() -> None:
    hello = introduction("n1").hello("10.0.0.7")
    assert int(hello.inventory["cpus"]) >= 1
    assert int(hello.inventory["memory_bytes"]) > 1 << 20
    assert hello.addresses == ["10.0.0.7"]
    assert abs(hello.wall_ms - time.time() * 1000) < 60_000
