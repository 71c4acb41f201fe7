"""Bindings over the link: from a source on a node to the server's book, through cuts and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.test_bindings import Scene, gpu
from tests.server.linking import Agent, Place, agent, introduction, run, serving, until
from vigie.agent.bindings import BindingTracker
from vigie.server.cluster.filters import GUESSED, TOLD, UNHEARD

pytestmark = pytest.mark.process


def ends(place: Place) -> dict[str, tuple[int | None, int]]:
    return {kept.binding.resource: (kept.binding.to_ms, kept.how) for kept in place.hub.bindings.find()}


class Node(Scene):
    """A node whose source says who holds what, and its link."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.holding = BindingTracker([self.reading], [agent.link])


def test_what_a_source_says_is_kept_with_its_node_and_source(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "data") as place, agent(place, tmp_path / "a", "n1") as one:
            node = Node(await one.connected())
            node.tick(1000, gpu(0, name="train"))
            await one.acknowledged()
            await until(place.hub.bindings.find)
            (kept,) = place.hub.bindings.find()
            assert (kept.node, kept.binding) == ("n1", gpu(0, name="train"))
            node.tick(3000)
            await until(lambda: ends(place) == {"gpu:0": (3000, TOLD)})
            (job,) = place.hub.bindings.jobs.find()
            assert (job.id, job.nodes, job.gpus, job.end_ms) == ("17", ["n1"], ["n1:0"], 3000)

    run(test())


def test_restarted_agent_ends_what_is_gone_and_goes_on_with_the_rest(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "data") as place:
            first = Agent(place, tmp_path / "a", introduction("n1"))
            Node(await first.connected()).tick(1000, gpu(0), gpu(1))
            await first.acknowledged()
            await until(lambda: len(ends(place)) == 2)
            await first.stop()
            await until(lambda: {how for _, how in ends(place).values()} == {UNHEARD})
            async with agent(place, tmp_path / "a", "n1", start="another") as second:
                Node(await second.connected()).tick(5000, gpu(1))
                await until(lambda: ends(place)["gpu:1"] == (None, TOLD))
                assert ends(place)["gpu:0"][1] == GUESSED

    run(test())


def test_server_that_was_away_gets_beginning_and_end_and_makes_one_binding_of_them(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "data") as place:
            one = Agent(place, tmp_path / "a", introduction("n1"))
            node = Node(await one.connected())
            node.tick(1000, gpu(0))
            await one.acknowledged()
        node.tick(2000, gpu(0), gpu(1))
        node.tick(3000, gpu(2))
        async with serving(tmp_path / "data", port=place.port) as again:
            await until(lambda: len(ends(again)) == 3 and one.link.buffer.in_memory == 0)
            await until(
                lambda: ends(again) == {"gpu:0": (3000, TOLD), "gpu:1": (3000, TOLD), "gpu:2": (None, TOLD)}
            )
            await one.stop()

    run(test())


def test_removed_node_holds_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "data") as place, agent(place, tmp_path / "a", "n1") as one:
            Node(await one.connected()).tick(1000, gpu(0))
            await until(lambda: ends(place) == {"gpu:0": (None, TOLD)})
            place.hub.links.remove("n1")
            await until(lambda: ends(place)["gpu:0"][1] == UNHEARD)
            await one.ended()

    run(test())
