"""Bindings over the link: from a source on a node to the server's book, through cuts and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.test_bindings import Scene, gpu
from tests.server.linking import Agent, Place, agent, introduction, run, serving, until
from vigie.agent.bindings import BindingTracker
from vigie.model import Binding, Table
from vigie.query.storage import Matcher
from vigie.server.cluster.filters import GUESSED, TOLD, UNHEARD
from vigie.server.cluster.node_names import NodeNames
from vigie.server.cluster.nodes import NodeRecord
from vigie.server.ingest.link_bindings import LinkBindings
from vigie.server.ingest.reported_holders import ReportedHolders
from vigie.store.errors import InvalidInputError
from vigie.wire.agent_series import HOLDER
from vigie.wire.bindings import build_binding_message
from vigie.wire.messages import HeldBindings

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


def elsewhere(index: int, *names: str) -> Binding:
    return gpu(index)._replace(node_names=names)


def held_series(place: Place, node: str) -> set[str]:
    matchers = [Matcher("__name__", "=", "vigie_holder_info"), Matcher("instance", "=", node)]
    return {labels["gpu"] for labels in place.store.series(matchers, 0, 1 << 60)}


def test_agent_beside_the_server_reports_of_other_nodes_and_their_frames_carry_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            serving(tmp_path / "data") as place,
            agent(place, tmp_path / "h", "head") as head,
            agent(place, tmp_path / "a", "n1") as one,
        ):
            node = Node(await head.connected())
            await one.connected()
            node.tick(1000, elsewhere(3, "n1"), elsewhere(4, "slurm-only"))
            await until(lambda: len(place.hub.bindings.find()) == 2)
            assert {kept.node for kept in place.hub.bindings.find()} == {"n1", "slurm-only"}
            one.send(1.0)
            await until(lambda: held_series(place, "n1") == {"3"})
            assert held_series(place, "head") == set()

    run(test())


def test_what_an_agent_exports_itself_is_no_second_series(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            serving(tmp_path / "data") as place,
            agent(place, tmp_path / "h", "head") as head,
            agent(place, tmp_path / "a", "n1") as one,
        ):
            node = Node(await head.connected())
            await one.connected()
            node.tick(1000, elsewhere(3, "n1"), elsewhere(4, "n1"))
            await until(lambda: len(place.hub.bindings.find()) == 2)
            own = Table("bindings", 1, ((HOLDER, ("3", "gpu:3", "job", "17", "")),))
            at = one.send(1.0, table=own)
            await until(lambda: held_series(place, "n1") == {"3", "4"})
            matchers = [Matcher("__name__", "=", "vigie_holder_info"), Matcher("gpu", "=", "3")]
            (labels,) = place.store.series(matchers, at, at)
            assert labels.get("user", "") == ""

    run(test())


def test_node_that_may_not_report_of_others_is_refused_with_what_to_set(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "data") as place:
            stranger = LinkBindings(
                "n1",
                place.hub.bindings,
                place.hub.nodes,
                ReportedHolders(),
                lambda: 5000,
                reports_others=False,
            )
            with pytest.raises(InvalidInputError, match=r"server\.cluster_reporters"):
                stranger.add(elsewhere(3, "n2"))
            held = HeldBindings([build_binding_message(one, 1) for one in (gpu(0), elsewhere(3, "n2"))])
            assert stranger.collect(held) == [gpu(0)]
            assert stranger.place_of("node_drained", {"node": "n2"}) == "n1"

    run(test())


def test_node_is_found_by_host_name_and_address_but_not_by_what_several_share() -> None:
    nodes = [
        NodeRecord("gpu01.cluster", host="gpu01.cluster", addresses=["10.0.0.1", "127.0.0.1"]),
        NodeRecord("b", host="twin", addresses=["10.0.0.2"]),
        NodeRecord("c", host="twin", addresses=["10.0.0.3"]),
    ]
    names = NodeNames(nodes)
    assert names.find(("n1", "gpu01")) == "gpu01.cluster"
    assert names.find(("n1", "x", "10.0.0.1")) == "gpu01.cluster"
    assert names.find(("n2", "twin", "127.0.0.1")) == "n2"
    assert names.find(("n3", "twin", "10.0.0.3")) == "c"
    assert names.find(("b", "gpu01")) == "b"
