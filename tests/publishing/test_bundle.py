"""The whole that is published: the paths are those people know, and each file says what was asked."""

from __future__ import annotations

import configparser
import os
from pathlib import Path
from typing import Any

from yaml import safe_load  # type: ignore[import-untyped]

from tests.dashboards.asking import RATE_INTERVAL, everything, fill
from vigie.dashboards import all_dashboards
from vigie.publishing.bundle import files, publish
from vigie.publishing.options import PROMETHEUS, PublishOptions, PublishTokens
from vigie.query.parser.parse import parse
from vigie.views.grafana.dashboards import DefaultDashboard, build_dashboard

OPTIONS = PublishOptions(Path("/srv/monitoring"), "http://head:8000")


def _texts(options: PublishOptions = OPTIONS, tokens: PublishTokens | None = None) -> dict[str, str]:
    return {file.path: file.text for file in files(options, tokens or PublishTokens(), [])}


def _ini(options: PublishOptions) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(_texts(options)["grafana/grafana.ini"])
    return parser


def test_tree_has_the_paths_that_people_know() -> None:
    assert set(_texts()) >= {
        "prometheus/prometheus.yml",
        "prometheus/rules/alerts.yml",
        "prometheus/rules/recordings.yml",
        "prometheus/targets.json",
        "grafana/grafana.ini",
        "grafana/provisioning/datasources/default.yml",
        "grafana/provisioning/dashboards/default.yml",
        "compose.yml",
        *(f"grafana/dashboards/{board.slug}.json" for board in all_dashboards()),
    }


def test_nobody_looks_at_grafana_without_an_account_unless_asked() -> None:
    assert _ini(OPTIONS)["auth.anonymous"]["enabled"] == "false"
    asked = _ini(OPTIONS._replace(anonymous_viewer=True))["auth.anonymous"]
    assert (asked["enabled"], asked["org_role"]) == ("true", "Viewer")
    assert _ini(OPTIONS)["security"]["admin_password"] == "$__file{/srv/monitoring/credentials/grafana-admin}"


def test_grafana_opens_with_a_dashboard_that_is_there() -> None:
    home = _ini(OPTIONS)["dashboards"]["default_home_dashboard_path"]
    assert home.removeprefix("/srv/monitoring/") in _texts()


def test_dashboards_ask_the_server_first_or_prometheus() -> None:
    assert _first(OPTIONS) == ("vigie", "http://head:8000")
    assert _first(OPTIONS._replace(data_source=PROMETHEUS)) == ("Prometheus", "http://127.0.0.1:9090")


def _first(options: PublishOptions) -> tuple[str, str]:
    sources = safe_load(_texts(options)["grafana/provisioning/datasources/default.yml"])["datasources"]
    (source,) = [source for source in sources if source["isDefault"]]
    return source["name"], source["url"]


def test_no_secret_stands_in_a_file_that_others_may_read() -> None:
    tokens = PublishTokens("servers-own", "agents-own", {"n1": "nodes-own"})
    made = list(files(OPTIONS, tokens, []))
    private = {file.path: file.text.strip() for file in made if file.private}
    assert private == {
        "credentials/server": "servers-own",
        "credentials/agents": "agents-own",
        "credentials/nodes/n1": "nodes-own",
    }
    assert not any("s-own" in file.text for file in made if not file.private)


def test_containers_run_as_whoever_may_read_the_secrets_and_see_the_same_paths() -> None:
    services: dict[str, Any] = safe_load(_texts()["compose.yml"])["services"]
    assert set(services) == {"prometheus", "grafana"}
    for service in services.values():
        assert service["user"] == f"{os.getuid()}:{os.getgid()}"
        assert "/srv/monitoring:/srv/monitoring:ro" in service["volumes"]
    assert services["grafana"]["environment"]["GF_PATHS_CONFIG"] == "/srv/monitoring/grafana/grafana.ini"


def test_every_question_in_grafanas_json_is_promql() -> None:
    for board in all_dashboards():
        chosen = {"__rate_interval": RATE_INTERVAL} | {
            each.name: everything(each) for each in board.variables
        }
        for panel in build_dashboard(board, DefaultDashboard("vigie", "vigie"))["panels"]:
            for target in panel.get("targets", ()):
                parse(fill(target["expr"], chosen))


def test_what_is_published_is_there_and_stays_as_it_is(tmp_path: Path) -> None:
    options = OPTIONS._replace(root=tmp_path)
    assert len(publish(options, PublishTokens("t"), []).written) == len(
        list(files(options, PublishTokens("t"), []))
    )
    password = (tmp_path / "credentials" / "grafana-admin").read_text()
    assert publish(options, PublishTokens("t"), []) == ((), (), ())
    assert (tmp_path / "credentials" / "grafana-admin").read_text() == password
    assert (tmp_path / "grafana" / "data").is_dir()
