"""The states of nodes, as time passes, and what of them survives a restart."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from vigie.model import Event
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.cluster.nodes import NodeStore, node_facts
from vigie.wire.messages import Hello


class Scene:
    """A registry with a clock in our hands."""

    def __init__(self, directory: Path) -> None:
        self.now = 1_700_000_000_000
        self.told: list[Event] = []
        self._path = directory / FILE
        self.open()

    def open(self) -> None:
        self.database = ClusterDatabase(self._path)
        self.registry = NodeStore(self.database, self.told.append, lambda: self.now)

    def close(self) -> None:
        self.registry.close()
        self.database.close()

    def restart(self) -> None:
        self.close()
        self.open()

    def hello(
        self, name: str = "n1", address: str = "10.0.0.1", joined: bool = False, **facts: object
    ) -> None:
        hello = Hello(1, name, "start", **{"cadence": 10.0, **facts})  # type: ignore[arg-type]
        self.registry.connect(hello, address, joined=joined)

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * 1000)
        self.registry.watch()

    @property
    def state(self) -> str:
        return self.registry.nodes()[0].state

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.told]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.close()


def test_silent_node_is_late_and_then_lost_with_an_event_that_ends_when_it_is_back(scene: Scene) -> None:
    scene.hello()
    assert scene.state == "up"
    begin = scene.now
    scene.wait(31)
    assert scene.state == "late"
    scene.wait(30)
    assert scene.state == "lost"
    assert scene.told[-1] == Event(
        "node_lost", begin, "no data from the node", {"node": "n1"}, None, "critical"
    )
    scene.wait(600)
    assert scene.kinds.count("node_lost") == 1
    scene.registry.mark_seen("n1")
    assert scene.state == "up"
    assert scene.told[-1].end_ms == scene.now
    assert scene.told[-1].begin_ms == begin


def test_quick_cadence_does_not_make_a_node_late_in_a_moment(scene: Scene) -> None:
    scene.hello(cadence=1.0)
    scene.wait(10)
    assert scene.state == "up"


def test_stopped_node_is_never_lost(scene: Scene) -> None:
    scene.hello()
    scene.registry.mark_stopped("n1")
    scene.wait(3600)
    assert scene.state == "stopped"
    assert "node_lost" not in scene.kinds


def test_node_is_stopped_until_it_is_heard_again(scene: Scene) -> None:
    scene.hello()
    begin = scene.now
    scene.registry.mark_stopped("n1")
    stopped = Event("node_stopped", begin, "agent stopped", {"node": "n1"})
    assert scene.told[-1] == stopped
    scene.wait(600)
    scene.registry.mark_seen("n1")
    assert scene.told[-1] == stopped._replace(end_ms=scene.now)


def test_nobody_waits_for_a_lost_node_that_is_removed(scene: Scene) -> None:
    scene.hello()
    begin = scene.now
    scene.wait(3600)
    assert scene.state == "lost"
    scene.registry.remove("n1")
    ended, removed = scene.told[-2:]
    assert (ended.kind, ended.begin_ms, ended.end_ms) == ("node_lost", begin, scene.now)
    assert removed.kind == "node_removed"


def test_node_that_was_removed_stays_so_whatever_its_agent_says_then(scene: Scene) -> None:
    scene.hello()
    assert scene.registry.remove("n1")
    assert not scene.registry.mark_stopped("n1")
    assert scene.state == "removed"
    assert "node_stopped" not in scene.kinds


def test_every_lost_node_is_told_though_the_disk_takes_nothing(scene: Scene) -> None:
    for name in ("n1", "n2", "n3"):
        scene.hello(name)
    scene.now += 100_000
    scene.database.connection.execute("pragma query_only = on")
    with pytest.raises(sqlite3.OperationalError):
        scene.registry.watch()
    scene.database.connection.execute("pragma query_only = off")
    assert scene.kinds.count("node_lost") == 3


def test_nodes_survive_a_restart_of_the_server_and_get_time_to_come_back(scene: Scene) -> None:
    scene.hello(labels={"rack": "r1"}, inventory={"cpus": "8"})
    scene.now += 600_000  # the server was away
    scene.restart()
    scene.wait(1)
    assert scene.state == "up"
    (node,) = scene.registry.nodes()
    assert (node.labels, node.inventory) == ({"rack": "r1"}, {"cpus": "8"})
    scene.wait(61)
    assert scene.state == "lost"


def test_lost_node_that_comes_back_after_a_restart_ends_the_same_event(scene: Scene) -> None:
    scene.hello()
    scene.wait(100)
    begin = scene.told[-1].begin_ms
    scene.restart()
    scene.hello()
    ended = [event for event in scene.told if event.kind == "node_lost" and event.end_ms]
    assert [event.begin_ms for event in ended] == [begin]


def test_hardware_that_a_node_does_not_tell_of_is_not_missing(scene: Scene) -> None:
    scene.hello(inventory={"gpus": "8", "cpus": "64"})
    scene.hello(inventory={"cpus": "64"})  # its driver is not loaded yet
    assert node_facts(scene.registry.nodes()[0])["missing"] == []
    assert "hardware_missing" not in scene.kinds
    scene.registry.set_inventory("n1", {"gpus": "7", "cpus": "64"})
    scene.registry.set_inventory("n1", {"gpus": "7", "cpus": "64"})
    assert node_facts(scene.registry.nodes()[0])["missing"] == ["gpus"]
    assert scene.kinds.count("hardware_missing") == 1
    scene.restart()
    assert node_facts(scene.registry.nodes()[0])["missing"] == ["gpus"]


def test_changed_address_is_told(scene: Scene) -> None:
    scene.hello()
    scene.hello(address="10.0.0.2")
    assert scene.told[-1].kind == "address_changed"
    assert scene.told[-1].what == "from 10.0.0.1 to 10.0.0.2"
    scene.hello(address="10.0.0.2")
    assert scene.kinds.count("address_changed") == 1


def test_hardware_that_is_missing_is_told_once(scene: Scene) -> None:
    scene.hello(inventory={"gpus": "8", "memory_bytes": "1000000"})
    scene.hello(inventory={"gpus": "7", "memory_bytes": "999000"})
    scene.hello(inventory={"gpus": "7", "memory_bytes": "999000"})
    assert scene.kinds.count("hardware_missing") == 1
    assert next(e.what for e in scene.told if e.kind == "hardware_missing") == "GPUs 7 of 8"
    assert node_facts(scene.registry.nodes()[0])["missing"] == ["gpus"]


def test_removed_node_is_heard_no_more(scene: Scene) -> None:
    scene.hello()
    assert scene.registry.remove("n1")
    assert not scene.registry.remove("n1")
    assert not scene.registry.remove("nobody")
    scene.registry.mark_seen("n1")
    assert scene.state == "removed"


def test_garbled_row_costs_only_itself(scene: Scene) -> None:
    scene.hello("n1")
    scene.hello("n2")
    with scene.database.transaction() as connection:
        connection.execute("update nodes set facts = '{' where name = 'n1'")
    scene.registry._nodes.pop("n1")
    scene.restart()
    assert [node.name for node in scene.registry.nodes()] == ["n2"]


def test_a_cloned_image_is_told_once_a_node_however_many_there_are(scene: Scene) -> None:
    for number in range(40):
        scene.hello(f"n{number:02d}", machine_id="same")
    cloned = [event for event in scene.told if event.kind == "machine_id_cloned"]
    assert len(cloned) == 39
    assert "39 others, such as n00," in cloned[-1].what
    scene.hello("n07", machine_id="same")
    assert scene.kinds.count("machine_id_cloned") == 39
