"""/add_node, /remove_node, /sd/prometheus, /api/v1/targets, and the file for file_sd_configs."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.routing import Route
from yaml import safe_load  # type: ignore[import-untyped]

from tests.server.serving import Said, Server, listening
from vigie.server.api.prometheus.targets import ActiveTargets
from vigie.server.scrape.config import ScrapeConfig
from vigie.server.scrape.discovery import Discovery, DiscoveryEntry, FileSd, yaml
from vigie.server.scrape.registration import RegistrationRoutes
from vigie.server.scrape.scrape_loop import TargetHealth
from vigie.server.scrape.target import Target, target_of
from vigie.server.scrape.target_store import TargetStore

LABELS = {"host_gpu": "gpu1", "hostname": "gpu1", "job": "dcgm-exporter", "node_type": "gpu"}
NODE = {"labels": LABELS, "targets": ["10.0.0.1:9400"]}


class Registry(Server):
    """A server with the routes about targets alone."""

    def __init__(self, targets: TargetStore, port: int) -> None:
        self.targets, self.port = targets, port

    def send(self, path: str, body: Any) -> Said:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, content)


@pytest.fixture(name="registry")
def _registry(tmp_path: Path) -> Iterator[Registry]:
    with contextlib.closing(TargetStore(tmp_path / "targets.sqlite")) as targets:
        registration = RegistrationRoutes(targets)
        agents = [Target("n1:9797", {"instance": "n1", "job": "node"})]
        up = TargetHealth("up", "", 1_700_000_000_000, 0.25)
        active = ActiveTargets(targets.all, lambda: {"http://10.0.0.1:9400/metrics": up}, ScrapeConfig())
        routes = [
            Route("/add_node", registration.add, methods=["POST"]),
            Route("/remove_node", registration.remove, methods=["POST"]),
            Route("/sd/prometheus", Discovery(targets.all, lambda: agents).answer),
            Route("/api/v1/targets", active.answer),
        ]
        with listening(Starlette(routes=routes)) as port:
            yield Registry(targets, port)


def test_node_is_added_and_removed_as_often_as_one_likes(registry: Registry) -> None:
    for _ in range(2):
        answer = registry.send("/add_node", NODE)
        assert (answer.status, answer.json) == (200, {"message": "Node update received"})
    assert [dict(target.labels) for target in registry.targets.all()] == [{**LABELS, "instance": "gpu1"}]
    for _ in range(2):
        answer = registry.send("/remove_node", {"ip": "10.0.0.1"})
        assert (answer.status, answer.json) == (200, {"message": "Node update received"})
    assert not registry.targets.all()


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("/add_node", b"", 422, "Invalid Node update data"),
        ("/add_node", b"\xff", 422, "Invalid Node update data"),
        ("/add_node", [], 422, "Invalid Node update data"),
        ("/add_node", {"labels": LABELS}, 422, "targets"),
        ("/add_node", {"targets": ["10.0.0.1:1"]}, 422, "labels"),
        ("/add_node", {"labels": {"job": 5}, "targets": []}, 422, "Expected `str`"),
        ("/add_node", {**NODE, "targets": []}, 400, "targets is empty"),
        ("/add_node", {**NODE, "targets": ["10.0.0.2:9100", "10.0.0.1"]}, 400, "an address and a port"),
        ("/add_node", {**NODE, "labels": {"hostname": "x"}}, 400, "job is missing"),
        ("/add_node", {**NODE, "targets": ["10.0.0.1:1", "10.0.0.2:1"]}, 409, "same labels"),
        ("/add_node", b"x" * (2 << 20), 413, "larger"),
        ("/remove_node", {"ip": ""}, 400, "ip is empty"),
        ("/remove_node", {"ip": " "}, 400, "ip is empty"),
        ("/remove_node", {"ip": None}, 422, "Expected `str`"),
        ("/remove_node", {}, 422, "ip"),
        pytest.param("/add_node", b'{"x":' * 9000, 422, "Invalid Node update data", id="deeply nested"),
    ],
)
def test_bad_request_gets_a_reason_and_changes_nothing(
    registry: Registry, path: str, body: Any, status: int, reason: str
) -> None:
    answer = registry.send(path, body)
    assert answer.status == status
    assert reason in answer.json["detail"]
    assert not registry.targets.all()


def test_nothing_is_changed_by_get(registry: Registry) -> None:
    assert registry.ask("GET", "/add_node").status == 405
    assert registry.ask("GET", "/remove_node").status == 405


def test_prometheus_is_told_every_target_with_its_labels(registry: Registry) -> None:
    registry.send("/add_node", NODE)
    answer = registry.ask("GET", "/sd/prometheus")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == [
        {"targets": ["10.0.0.1:9400"], "labels": {**LABELS, "instance": "gpu1"}},
        {"targets": ["n1:9797"], "labels": {"instance": "n1", "job": "node"}},
    ]


def test_targets_are_listed_with_their_state(registry: Registry) -> None:
    registry.send("/add_node", NODE)
    registry.send("/add_node", {"labels": {"job": "other"}, "targets": ["10.0.0.2:1"]})
    scraped, new = registry.get("targets").data["activeTargets"]
    assert scraped["labels"] == {**LABELS, "instance": "gpu1"}
    assert scraped["discoveredLabels"]["__address__"] == "10.0.0.1:9400"
    assert (scraped["health"], scraped["lastError"], scraped["lastScrapeDuration"]) == ("up", "", 0.25)
    assert scraped["lastScrape"] == "2023-11-14T22:13:20.000Z"
    assert scraped["scrapeUrl"] == "http://10.0.0.1:9400/metrics"
    assert (new["health"], new["lastScrape"]) == ("unknown", "0001-01-01T00:00:00Z")
    assert registry.get("targets", state="dropped").data == {"activeTargets": [], "droppedTargets": []}
    assert len(registry.get("targets", state="any").data["activeTargets"]) == 2
    assert len(registry.get("targets", scrapePool="other").data["activeTargets"]) == 1


def test_file_follows_the_targets(tmp_path: Path) -> None:
    path = tmp_path / "targets.yaml"
    with contextlib.closing(TargetStore(tmp_path / "targets.sqlite")) as targets:
        file = FileSd(path, Discovery(targets.all))
        targets.watch(file.refresh)
        try:
            _wait_for(path, "[]\n")
            targets.add([target_of("10.0.0.1:9400", LABELS)])
            _wait_for(path, '- targets: ["10.0.0.1:9400"]\n')
            path.unlink()
            file.refresh()
            _wait_for(path, '    instance: "gpu1"\n')
            targets.remove("10.0.0.1")
            _wait_for(path, "[]\n")
        finally:
            file.close()
        assert path.stat().st_mode & 0o777 == 0o644
        assert [entry.name for entry in tmp_path.glob(".*")] == []


def _wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 60
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline, f"{path} never held {text!r}"
        time.sleep(0.005)


def test_file_that_cannot_be_written_is_an_error_in_the_log_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = FileSd(tmp_path / "nowhere" / "targets.yaml", Discovery())
    for _ in range(3):
        file.refresh()
    file.close()
    assert len([record for record in caplog.records if "file_sd_configs" in record.getMessage()]) == 1


@given(st.text(max_size=20))
def test_any_label_value_stays_within_its_quotes(value: str) -> None:
    text = yaml([DiscoveryEntry(["n1:1"], {"a": value})])
    assert len(text.splitlines()) == 4
    assert safe_load(text) == [{"targets": ["n1:1"], "labels": {"a": value}}]
