"""/api/nodes and /api/events: lists, filters, pages, and bad questions."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette

from tests.server.asgi import Answer, call
from vigie.model import Event
from vigie.server.api.events import EventRoutes
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.cluster.events import EventStore
from vigie.server.identity import Identity
from vigie.server.services import LinkHub
from vigie.store.store import Store
from vigie.wire.messages import Hello

pytestmark = pytest.mark.process


class Keys:
    """Keys of which only the revoked are remembered."""

    def __init__(self) -> None:
        self.revoked: list[str] = []

    def identify(self, token: str) -> Identity | None:
        return Identity("node", token)

    def new_node_key(self, node: str) -> str:
        return node

    def revoke(self, node: str) -> None:
        self.revoked.append(node)


class Scene:
    """The routes over a hub that nobody dials."""

    def __init__(self, hub: LinkHub, keys: Keys) -> None:
        self.hub, self.keys = hub, keys
        self._app = Starlette(routes=hub.routes())

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return answer.json

    def ask(self, method: str, path: str) -> Answer:
        return call(self._app, method, path)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with Store(tmp_path / "store") as store:
        keys = Keys()

        async def made() -> LinkHub:
            return LinkHub(tmp_path, store, keys, now_ms, 1 << 40)

        hub = asyncio.run(made())
        yield Scene(hub, keys)
        hub.close()


def hello(name: str) -> Hello:
    return Hello(1, name, "start", host=name, labels={"rack": "r1"}, inventory={"cpus": "8"})


def test_nodes_are_listed_with_what_is_known_of_them(scene: Scene) -> None:
    for name in ("n2", "n1"):
        scene.hub.nodes.connect(hello(name), "10.0.0.1", joined=True)
    nodes = scene.get("/api/nodes")["nodes"]
    assert [node["name"] for node in nodes] == ["n1", "n2"]
    assert (nodes[0]["state"], nodes[0]["labels"], nodes[0]["missing"]) == ("up", {"rack": "r1"}, [])
    assert scene.get("/api/nodes/n1") == nodes[0]
    assert scene.get("/api/nodes?state=lost") == {"nodes": []}


def test_removed_node_is_in_the_list_of_the_removed_only_and_its_keys_are_void(scene: Scene) -> None:
    scene.hub.nodes.connect(hello("n1"), "10.0.0.1", joined=True)
    assert scene.ask("DELETE", "/api/nodes/n1").json == {"removed": "n1"}
    assert scene.keys.revoked == ["n1"]
    assert scene.get("/api/nodes") == {"nodes": []}
    assert [node["name"] for node in scene.get("/api/nodes?state=removed")["nodes"]] == ["n1"]
    for method in ("GET", "DELETE"):
        assert scene.ask(method, "/api/nodes/nobody").status == 404


def test_added_node_is_listed_before_it_was_ever_heard_with_a_key_of_its_own(scene: Scene) -> None:
    assert scene.ask("POST", "/api/nodes/n7").json == {"added": "n7", "key": "n7"}
    (node,) = scene.get("/api/nodes?state=added")["nodes"]
    assert node["name"] == "n7"
    assert scene.ask("POST", "/api/nodes/n7").status == 200  # once more is no harm
    assert scene.ask("POST", "/api/nodes/-bad").status == 400


def test_node_tells_where_a_prometheus_finds_its_agent_or_why_it_does_not(scene: Scene) -> None:
    for name, listen in (("n1", ""), ("n2", "0.0.0.0:9797"), ("n3", "10.9.9.9:9000"), ("n4", "x")):
        connected = Hello(1, name, "start", host=name, listen=listen)
        scene.hub.nodes.connect(connected, "10.0.0.1", joined=True)
    nodes = {node["name"]: node for node in scene.get("/api/nodes")["nodes"]}
    assert [nodes[name]["scrape_address"] for name in sorted(nodes)] == [
        "",
        "10.0.0.1:9797",
        "10.9.9.9:9000",
        "",
    ]
    assert "--listen" in nodes["n1"]["scrape_trouble"]
    assert "'x'" in nodes["n4"]["scrape_trouble"]
    targets = scene.hub.agents()
    assert [dict(target.labels) for target in targets] == [
        {"instance": name, "job": "node"} for name in ("n2", "n3")
    ]
    scene.hub.nodes.mark_stopped("n2")
    assert [target.address for target in scene.hub.agents()] == ["10.9.9.9:9000"]


def test_events_come_page_by_page_and_then_as_they_happen(scene: Scene) -> None:
    for begin in range(5):
        scene.hub.events.add(Event("xid", begin * 1000, "it fell", {"node": f"n{begin % 2}"}))
    first = scene.get("/api/events?limit=3")
    assert [event["begin_ms"] for event in first["events"]] == [4000, 3000, 2000]
    second = scene.get(f"/api/events?limit=3&before={first['next']}")
    assert [event["begin_ms"] for event in second["events"]] == [1000, 0]
    assert "next" not in second
    assert scene.get(f"/api/events?after={first['last']}") == {"events": [], "last": first["last"]}
    scene.hub.events.add(Event("oom", 9000, "killed", {"node": "n1"}, severity="critical"))
    (new,) = scene.get(f"/api/events?after={first['last']}")["events"]
    assert (new["kind"], new["node"], new["severity"]) == ("oom", "n1", "critical")


def test_event_that_comes_while_others_are_listed_is_listed_once(tmp_path: Path) -> None:
    class Busy(EventStore):
        def last(self) -> int:
            number = super().last()
            self.add(Event("xid", number, "it fell", {"node": "n1"}))
            return number

    with contextlib.closing(ClusterDatabase(tmp_path / FILE)) as database:
        app = Starlette(routes=EventRoutes(Busy(database)).routes())
        seen, last = [], "0"
        for _ in range(3):
            answer = call(app, "GET", f"/api/events?after={last}").json
            seen += [event["id"] for event in answer["events"]]
            last = answer["last"]
    assert seen == [1, 2, 3]


def test_full_disk_is_told_as_such(scene: Scene) -> None:
    scene.hub.database.connection.execute("pragma query_only = on")
    answer = scene.ask("POST", "/api/nodes/n1")
    scene.hub.database.connection.execute("pragma query_only = off")
    assert (answer.status, answer.json["errorType"]) == (503, "unavailable")


def test_stop_on_a_full_disk_lets_go_of_everything_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def stopped() -> LinkHub:
        with Store(tmp_path / "store") as store:
            hub = LinkHub(tmp_path, store, Keys(), now_ms, 1 << 40)
            hub.nodes.connect(hello("n1"), "10.0.0.1", joined=False)
            hub.activity.add_frame("n1", now_ms())
            hub.database.connection.execute("pragma query_only = on")
            hub.close()
        return hub

    hub = asyncio.run(stopped())
    assert [text.split(":")[0] for text in caplog.messages if "cannot save" in text] == [
        "cannot save the newest of ActivityLog",
        "cannot save the newest of NodeStore",
    ]
    with pytest.raises(sqlite3.ProgrammingError):
        hub.database.connection.execute("select 1")


def test_old_events_go_when_the_server_starts(scene: Scene, tmp_path: Path) -> None:
    scene.hub.events.add(Event("xid", 0, "it fell", {"node": "n1"}))
    scene.hub.events.add(Event("xid", now_ms(), "it fell", {"node": "n1"}))

    async def again() -> None:
        with (
            Store(tmp_path / "another") as store,
            contextlib.closing(LinkHub(tmp_path, store, Keys(), now_ms, 1)),
        ):
            assert len(scene.hub.events.find()) == 1

    asyncio.run(again())


def test_events_are_filtered(scene: Scene) -> None:
    for begin in range(4):
        scene.hub.events.add(Event("xid", begin * 1000, "it fell", {"node": f"n{begin % 2}"}))
    assert len(scene.get("/api/events?node=n1")["events"]) == 2
    assert scene.get("/api/events?kind=oom")["events"] == []
    assert [e["begin_ms"] for e in scene.get("/api/events?since=1&until=2")["events"]] == [2000, 1000]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "limit=9999", "before=x", "after=-1", "since=x", "until=é"]
)
def test_bad_question_is_told_so(scene: Scene, query: str) -> None:
    answer = scene.ask("GET", f"/api/events?{quote(query, safe='=')}")
    assert answer.status == 400
    assert answer.json["errorType"] == "bad_data"
