"""A node that is lost, stopped or restarted, as questions to a running server see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.linking import BUSY, ONE, Agent, Place, agent, introduction, run, serving, table, until
from vigie.agent.link.entries import EncodedFrame, pack_values
from vigie.agent.link.hello import uptime_ms
from vigie.model import gauge
from vigie.query.engine import Engine
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.staleness.view import StalenessView
from vigie.wire.messages import RELAYED_PREFIX

pytestmark = pytest.mark.process

STEP = 10_000
CPU = table("cpu", (BUSY, ("0",)))
EXPORTED = table(
    f"{RELAYED_PREFIX}node-exporter", (gauge("up", "Whether it is."), ()), (gauge("x", "An x."), ())
)


def made_at(n1: Agent, time: int) -> None:
    """Have the agent send a frame that it made a while ago."""
    n1.link.buffer.put(EncodedFrame(time, uptime_ms() - (now_ms() - time), ((ONE, pack_values([1.0])),)))


def values(place: Place, question: str, at: int) -> list[float]:
    engine = Engine(StalenessView(place.store, place.hub.activity))
    return [float(series.values[0]) for series in engine.instant(question, at).series]


def test_node_that_says_goodbye_ends_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            async with agent(place, tmp_path, "n1") as n1:
                made = n1.send(1.0)
                await n1.acknowledged()
                assert values(place, "load", made + 1) == [1.0]
            await until(lambda: values(place, "load", made + 1) == [])
            assert values(place, "load", made) == [1.0]

    run(test())


def test_series_that_are_gone_after_a_restart_of_the_agent_have_ended(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            n1 = Agent(place, tmp_path, introduction("n1"))
            n1.send(1.0, at=now_ms() - 2000)
            n1.send(1.0, at=now_ms() - 1000, table=CPU)
            await n1.acknowledged()
            n1._running.cancel()  # as a killed agent: without a word
            await until(lambda: place.hub.links.connected == 0)
            async with agent(place, tmp_path, "n1", start="another") as again:
                made = again.send(2.0)
                await again.acknowledged()
                assert values(place, "busy", made) == []
                assert values(place, "load", made) == [2.0]
                assert values(place, "up", made) == [1.0]

    run(test())


def test_replay_over_the_link_takes_the_end_back(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            now = now_ms() // STEP * STEP
            times = [now - back * STEP for back in range(30, -1, -1)]
            for time in [*times[:5], *times[25:]]:
                made_at(n1, time)
            await n1.acknowledged()
            assert values(place, "load", times[6]) == []
            assert values(place, "up", times[15]) == [0.0]
            for time in times[5:25]:
                made_at(n1, time)
            await n1.acknowledged()
            assert place.hub.activity.between(0, now) == {}
            assert values(place, "load", times[6]) == values(place, "up", times[15]) == [1.0]

    run(test())


def test_lost_node_is_an_event_and_its_up_is_zero_until_it_is_back(tmp_path: Path) -> None:
    ahead = [0]

    async def test() -> None:
        async with serving(tmp_path / "s", clock=lambda: now_ms() + ahead[0]) as place:
            n1 = Agent(place, tmp_path, introduction("n1"))
            made = n1.send(1.0)
            await n1.acknowledged()
            n1._running.cancel()
            await until(lambda: place.hub.links.connected == 0)
            ahead[0] = 120_000
            await until(lambda: place.state("n1") == "lost")
            await until(lambda: place.events("node_lost"))
            assert values(place, "up", made + 110_000) == [0.0]
            assert values(place, "load", made + 110_000) == []

    run(test())


def test_what_an_exporter_says_is_stored_under_its_own_job_and_ends_with_the_node(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            async with agent(place, tmp_path, "n1") as n1:
                made = n1.send(1.0)
                n1.send(1.0, 7.0, at=made, table=EXPORTED)
                await n1.acknowledged()
                assert place.samples("x", instance="n1", job="node-exporter") == {made: 7.0}
                assert place.samples("x", job="node") == {}
                assert place.samples("up", job="node") == place.samples("up", job="node-exporter")
            later = made + STEP
            await until(lambda: values(place, "x", later) == [])
            assert values(place, "count(up == 0)", later + 1000) in ([], [2.0])  # its clock is the real one

    run(test())


def test_exporter_that_the_server_scrapes_itself_is_not_stored_twice(tmp_path: Path) -> None:
    async def test() -> None:
        def is_scraped(instance: str, job: str) -> bool:
            return (instance, job) == ("n1", "node-exporter")

        async with (
            serving(tmp_path / "s", is_scraped=is_scraped) as place,
            agent(place, tmp_path, "n1") as n1,
        ):
            made = n1.send(1.0)
            n1.send(1.0, 7.0, at=made, table=EXPORTED)
            await n1.acknowledged()
            assert place.samples("x") == {}
            assert place.samples("load") == {made: 1.0}

    run(test())


def test_table_of_an_exporter_cannot_pose_as_the_agent(tmp_path: Path) -> None:
    posing = table(f"{RELAYED_PREFIX}node", (gauge("x", "An x."), ()))

    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            await n1.connected()
            n1.send(7.0, table=posing)
            await until(lambda: n1.link.counters.connections >= 2)
            assert place.samples("x") == {}

    run(test())
