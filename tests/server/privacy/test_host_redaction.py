"""`hide_hosts`: no route tells a viewer the name or address of a host, and his links lead on all the same."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from tests.server.known import known_secrets
from tests.server.route_table import TABLE
from tests.server.serving import TOKEN, listening
from vigie.cli._auth_options import privacy
from vigie.cli.demo import build_cluster
from vigie.common.config import ConfigError
from vigie.query.limits import QueryLimits
from vigie.server.http.request_log import Traffic
from vigie.server.identity import Identity
from vigie.server.maintenance import RetentionConfig
from vigie.server.privacy.host_redaction import HostRedactor
from vigie.server.privacy.redactor import Privacy, Pseudonyms
from vigie.server.services import ServerConfig, build_services
from vigie.simulation.cluster.history import write_history
from vigie.simulation.cluster.machines import build_machines
from vigie.simulation.cluster.scenario import Scenario

pytestmark = pytest.mark.process

NOW = 1_794_808_800_000
HISTORY = 5 * 60_000
ALL = {"match[]": '{__name__=~"up|vigie_gpu_info|node_uname_info|DCGM_FI_DEV_GPU_UTIL|slurm_node_cpu_total"}'}
SPAN = {"start": str((NOW - HISTORY) / 1000), "end": str(NOW / 1000)}
ASKED: dict[str, dict[str, str]] = {
    "/api/v1/query": {"query": ALL["match[]"]},
    "/api/v1/query_range": {"query": ALL["match[]"], "step": "60", **SPAN},
    "/api/v1/series": ALL | SPAN,
    "/federate": ALL,
    "/api/search": {"q": "gpu"},
}
VARIABLE = {
    "{name:text}": ("instance", "Hostname", "nodename", "node"),
    "{id}": ("4221", "4222"),
    "{gpu}": ("0",),
    "{slug}": ("cluster",),
}


class Caller:
    """Somebody who asks a server."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._port, self._headers = port, headers

    def get(self, path: str, **query: str) -> bytes:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)) as client:
            client.request("GET", f"{path}?{urlencode(query)}", headers=self._headers)
            answer = client.getresponse()
            body = answer.read()
        return gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body

    def led_to(self, path: str) -> str:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)) as client:
            client.request("GET", path, headers=self._headers)
            return client.getresponse().headers["Location"] or ""

    def json(self, path: str, **query: str) -> Any:
        return json.loads(self.get(path, **query))


class Everybody:
    """A viewer and an admin of one server, and the names of its hosts."""

    def __init__(self, viewer: Caller, admin: Caller, hosts: list[str]) -> None:
        self.viewer, self.admin, self.hosts = viewer, admin, hosts


@pytest.fixture(scope="module")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everybody]:
    data = Path(tmp_path_factory.mktemp("data"))
    scenario = Scenario(build_machines(16, 1), NOW, 1)
    write_history(scenario, build_cluster(scenario), data, HISTORY)
    with known_secrets(TOKEN) as secrets, contextlib.ExitStack() as opened:
        plan = ServerConfig(
            "127.0.0.1:0",
            data,
            QueryLimits(),
            RetentionConfig(),
            {},
            clock=lambda: NOW,
            privacy=Privacy("a key", own=False, hosts=True),
        )

        async def start() -> Any:
            return build_services(plan, secrets, opened, Traffic()).app

        port = opened.enter_context(listening(asyncio.run(start())))
        admin = Caller(port, {"Authorization": f"Bearer {TOKEN}"})
        yield Everybody(Caller(port, {"Accept-Encoding": "gzip"}), admin, list(scenario.machines))


def paths(node: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every route that can be looked at, filled in."""
    for row in TABLE:
        method, _, route = row.rpartition(" ")
        if method in ("", "GET") and route not in ("/link", "/api/pages/users/{name}"):
            filled = [route.replace("{node}", node).replace("{name}", node)]
            for word, values in VARIABLE.items():
                filled = [path.replace(word, value) for path in filled for value in values]
            yield from ((path, ASKED.get(route, {})) for path in dict.fromkeys(filled) if "{" not in path)


def seen(everybody: Everybody, name: str) -> str:
    """Return under which name a viewer knows a host."""
    rows = everybody.viewer.json("/api/nodes")["nodes"]
    real = everybody.admin.json("/api/nodes")["nodes"]
    found: str = dict(zip([row["name"] for row in real], [row["name"] for row in rows], strict=True))[name]
    return found


def test_redirect_names_a_host_as_the_viewer_does(everybody: Everybody) -> None:
    name = seen(everybody, "gpu01")
    assert everybody.viewer.led_to(f"/node/{name}/?tab=events") == f"../{name}?tab=events"


def test_no_route_tells_a_viewer_of_hosts(everybody: Everybody) -> None:
    telling = set()
    for path, query in paths(seen(everybody, "gpu01")):
        body = everybody.viewer.get(path, **query)
        assert [host for host in everybody.hosts if host.encode() in body] == [], path
    for path, query in paths("gpu01"):
        body = everybody.admin.get(path, **query)
        telling |= {path for host in everybody.hosts if host.encode() in body}
    assert telling >= {
        "/api/nodes", "/api/nodes/gpu01", "/api/bindings", "/api/jobs", "/api/v1/query", "/api/v1/series",
        "/api/v1/label/instance/values", "/federate", "/api/pages/cluster", "/api/pages/nodes/gpu01",
    }  # fmt: skip


def test_pseudonym_of_a_host_leads_to_it_in_queries_and_pages(everybody: Everybody) -> None:
    name = seen(everybody, "gpu01")
    assert name.startswith("node-")
    assert everybody.viewer.json(f"/api/nodes/{name}")["name"] == name
    found = everybody.viewer.json("/api/v1/query", query=f'node_uname_info{{instance="{name}"}}')["data"][
        "result"
    ]
    assert {(row["metric"]["instance"], row["metric"]["nodename"]) for row in found} == {(name, name)}
    assert everybody.viewer.json("/api/bindings", node=name)["bindings"]
    assert everybody.viewer.json("/api/bindings", node=name)["bindings"][0]["node"] == name


@pytest.mark.parametrize("matcher", ['instance="gpu01"', 'instance=~"gpu.*"', 'Hostname=~"g.+"'])
def test_name_of_a_host_finds_nothing_for_a_viewer(everybody: Everybody, matcher: str) -> None:
    query = f"count(DCGM_FI_DEV_GPU_UTIL{{{matcher}}})"
    assert everybody.viewer.json("/api/v1/query", query=query)["data"]["result"] == []
    assert everybody.admin.json("/api/v1/query", query=query)["data"]["result"] != []


@pytest.mark.parametrize("words", ["gpu01", "pu01", "gpu0"])
def test_who_guesses_the_name_of_a_host_does_not_learn_its_pseudonym(
    everybody: Everybody, words: str
) -> None:
    def hosts(who: Caller, text: str) -> set[str]:
        found = who.json("/api/search", q=text)["found"]
        return {row["name"].partition(":")[0] for row in found if row["kind"] in ("node", "gpu")}

    name = seen(everybody, "gpu01")
    assert "gpu01" in hosts(everybody.admin, words)
    assert hosts(everybody.viewer, words) == set()
    assert hosts(everybody.viewer, name) == hosts(everybody.viewer, name[:-1]) == {name}
    assert name.encode() not in everybody.viewer.get("/api/nodes/gpu01")
    assert name.encode() not in everybody.viewer.get("/api/pages/nodes/gpu01")
    assert everybody.viewer.json("/api/bindings", node="gpu01")["bindings"] == []


def test_joins_and_people_stay_as_they_are(everybody: Everybody) -> None:
    query = "count(vigie_gpu_busy_ratio and on (instance, gpu) vigie_holder_info)"
    both = [who.json("/api/v1/query", query=query)["data"] for who in (everybody.viewer, everybody.admin)]
    assert both[0] == both[1]
    users = [who.json("/api/users")["users"] for who in (everybody.viewer, everybody.admin)]
    assert [row["user"] for row in users[0]] == [row["user"] for row in users[1]]


def test_hosts_are_hidden_from_viewers_alone_and_only_where_answers_are_ours(tmp_path: Path) -> None:
    hiding = Privacy("key", own=False, hosts=True)
    assert hiding.hides
    assert not hiding.own
    assert hiding.mask(Identity("user", "ada")) is None
    assert hiding.mask(Identity("admin", "admin")) is None
    mask = hiding.mask(Identity("viewer", ""))
    assert mask is not None
    assert mask.hides("instance")
    assert not mask.hides("user")
    settings = {"privacy": "open", "hide_hosts": True, "privacy_labels": [], "store": "http://elsewhere"}
    with pytest.raises(ConfigError, match="hide_hosts needs the embedded store"):
        privacy(settings, tmp_path)


def test_both_kinds_of_hiding_go_together() -> None:
    mask = Privacy("key", hosts=True).mask(Identity("viewer", "ada"))
    assert mask is not None
    told = mask.labels({"instance": "gpu01", "user": "ada", "mode": "idle"})
    assert told["mode"] == "idle"
    assert told["instance"].startswith("node-")
    assert told["user"].startswith("user-")
    own = Privacy("key", hosts=True).mask(Identity("user", "ada"))
    assert own is not None
    assert own.labels({"instance": "gpu01"}) == {"instance": "gpu01"}


WORDS = st.text("abcdefgh0123456789.-", min_size=1, max_size=8).filter(lambda word: word.strip(".-") == word)


async def nowhere(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise AssertionError("nobody asks")


@given(st.sets(WORDS, min_size=1, max_size=4), st.recursive(st.text(max_size=20), st.lists))
def test_whatever_is_told_names_no_host_and_keeps_its_shape(hosts: set[str], told: Any) -> None:
    hiding = HostRedactor(nowhere, Pseudonyms(b"key", "", people=False, hosts=True), hosts)
    first = min(hosts)
    said = hiding.hidden(
        {"a": [f"on {first}: bad", f"gpu/{first}/3", first], "b": told, "c": [1, None, True]}
    )
    assert said["c"] == [1, None, True]
    assert isinstance(said["b"], type(told))
    assert all(f" {first}:" not in text and f"/{first}/" not in text for text in said["a"])
    assert said["a"][2] == Pseudonyms(b"key", "").word("node", first)
