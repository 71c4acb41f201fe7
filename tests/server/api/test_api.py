"""Status, metadata, federation, health, and who may see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.serving import NOW, TOKEN, Server, serving
from vigie.model import Frame, Metric, Table

READING = [
    "/api/v1/query?query=1",
    "/api/v1/labels",
    "/federate",
    "/metrics",
    "/-/ready",
    "/api/v1/status/buildinfo",
]


def test_grafana_sees_a_version_of_prometheus_3(server: Server) -> None:
    assert server.get("status/buildinfo").data["version"].startswith("3.")
    assert server.get("status/flags").data == {"raw-days": "15"}
    assert server.get("status/runtimeinfo").data["storageRetention"] == "15d"
    assert server.get("status/config").data == {"yaml": ""}


def test_lists_that_have_nothing_yet_are_empty(server: Server) -> None:
    assert server.get("targets").data == {"activeTargets": [], "droppedTargets": []}
    assert server.get("rules").data == {"groups": []}
    assert server.get("alerts").data == {"alerts": []}
    assert server.get("query_exemplars", query="up", start=1, end=2).data == []


def test_cardinality_counts_series_names_and_labels(server: Server) -> None:
    facts = server.get("status/tsdb", limit=1).data
    assert facts["headStats"]["numSeries"] == 4
    assert facts["seriesCountByMetricName"] == [{"name": "up", "value": 2}]


def test_metadata_tells_kind_and_help_of_what_sources_declare(server: Server) -> None:
    one = server.get("metadata", metric="node_load1").data
    assert one["node_load1"][0]["type"] == "gauge"
    assert one["node_load1"][0]["help"].endswith(".")
    assert server.get("metadata", metric="unheard_of").data == {}
    assert len(server.get("metadata", limit=3).data) == 3
    assert len(server.get("metadata").data) > 300


def test_federation_gives_the_newest_samples_with_their_times(server: Server) -> None:
    said = server.ask("GET", "/federate?match[]=up&match[]=work_total")
    assert said.headers["content-type"].startswith("text/plain")
    assert said.body.decode().splitlines() == [
        "# TYPE up untyped",
        f'up{{instance="n1",job="node"}} 1 {NOW}',
        f'up{{instance="n2",job="node"}} 0 {NOW}',
        "# TYPE work_total untyped",
        f'work_total{{cpu="0",instance="n1",job="node"}} 285 {NOW}',
    ]
    assert server.ask("GET", "/federate").body == b""
    assert server.ask("GET", "/federate?match[]=up{").status == 400


def test_a_series_of_no_instance_is_federated_with_an_empty_one(tmp_path: Path) -> None:
    values = (
        Table("t", 1, ((Metric("jobs", "gauge", "", ("queue",)), ("a",)), (Metric("all", "gauge", ""), ()))),
        (1.0, 2.0),
    )
    with serving(tmp_path) as server:
        server.store.append({}, Frame(NOW, (values,)))
        said = server.ask("GET", "/federate?match[]=jobs&match[]=all").body.decode()
    assert [line for line in said.splitlines() if line[0] != "#"] == [
        f'all{{instance=""}} 2 {NOW}',
        f'jobs{{instance="",queue="a"}} 1 {NOW}',
    ]


def test_names_that_are_no_names_make_no_other_series_in_the_text_of_federation(tmp_path: Path) -> None:
    odd = Frame(NOW, (
        (Table("odd", 1, (
            (Metric('a 1\nup{instance="n2"} 0\n', "gauge", "", ("b.c", "1\n")), ("x", "y")),
            (Metric("", "gauge", ""), ()),
        )), (1.0, 2.0)),
    ))  # fmt: skip
    with serving(tmp_path) as server:
        server.store.append({"instance": "n1", "job": "node"}, odd)
        said = server.ask("GET", "/federate?match[]={job='node'}").body.decode()
    name = "a_1_up_instance__n2___0_"
    assert said.splitlines() == [
        f"# TYPE {name} untyped",
        f'{name}{{__="y",b_c="x",instance="n1",job="node"}} 1 {NOW}',
    ]


@pytest.mark.parametrize("path", ["/-/healthy", "/-/ready", "/healthz", "/readyz"])
def test_health_is_told(server: Server, path: str) -> None:
    assert server.ask("GET", path).status == 200


def test_server_measures_itself(server: Server) -> None:
    server.get("query", query="1")
    server.get("query", query="{")
    said = server.ask("GET", "/metrics").body.decode()
    values = {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in said.splitlines()
        if line[0] != "#"
    }
    assert values['vigie_server_queries_total{kind="query"}'] >= 2
    assert values['vigie_server_queries_failed_total{kind="query"}'] >= 1
    assert values['vigie_server_store_bytes{part="log"}'] >= 0
    assert values["process_resident_memory_bytes"] > 1e6


@pytest.mark.parametrize("path", READING)
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "10.0.0.1"},
        {"Forwarded": "for=10.0.0.1"},
        {"X-Real-IP": "10.0.0.1"},
        {"Host": "evil.example"},
        {"Host": "evil.example:8000"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
    ],
)
def test_what_is_not_certainly_local_needs_the_token(
    server: Server, path: str, headers: dict[str, str]
) -> None:
    said = server.ask("GET", path, headers=headers)
    assert (said.status, said.json["errorType"]) == (401, "unauthorized")
    shown = {**headers, "Authorization": f"Bearer {TOKEN}"}
    assert server.ask("GET", path, headers=shown).status == 200


def test_health_needs_no_token_from_anywhere(server: Server) -> None:
    assert server.ask("GET", "/healthz", headers={"X-Forwarded-For": "10.0.0.1"}).status == 200


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/nothing", "/api/v1/admin/tsdb/delete_series"])
def test_unknown_page_is_not_found(server: Server, path: str) -> None:
    assert server.ask("GET", path).status == 404
