"""prometheus.yml: who is scraped, who is shown which secret, and what is asked of the server instead."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yaml import safe_load  # type: ignore[import-untyped]

from vigie.publishing.options import (
    FILE,
    InvalidOptionError,
    PublishOptions,
    PublishTokens,
    ScrapeEntry,
    check_options,
)
from vigie.publishing.prometheus_config import configuration, targets
from vigie.query.parser.parse import parse

OPTIONS = PublishOptions(Path("/srv/monitoring"), "http://head:8000")
AGENTS = [ScrapeEntry([f"10.0.0.{n}:9797"], {"instance": f"n{n}", "job": "node"}) for n in (1, 2)]
EXPORTER = ScrapeEntry(["10.0.0.1:9400"], {"instance": "n1", "job": "dcgm-exporter"})
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9.-]{0,20}", fullmatch=True)
NONE = PublishTokens()


def _jobs(
    options: PublishOptions = OPTIONS, tokens: PublishTokens = NONE, *entries: ScrapeEntry
) -> dict[str, Any]:
    said = safe_load(configuration(options, tokens, entries))
    return {job["job_name"]: job for job in said["scrape_configs"]}


def _secret(job: dict[str, Any]) -> str:
    return str(job.get("authorization", {}).get("credentials_file", ""))


def test_agents_token_is_shown_to_agents_and_the_servers_to_the_server() -> None:
    jobs = _jobs(OPTIONS, PublishTokens("s", "a"), *AGENTS, EXPORTER)
    assert {name: _secret(job) for name, job in jobs.items()} == {
        "vigie-agents": "../credentials/agents",
        "vigie-exporters": "",
        "vigie": "../credentials/server",
        "vigie-federation": "../credentials/server",
    }
    assert _secret(jobs["vigie-exporters"]["http_sd_configs"][0]) == "../credentials/server"
    assert jobs["vigie-agents"]["relabel_configs"] == [
        {"source_labels": ["job"], "regex": "node", "action": "keep"}
    ]


def test_without_tokens_no_credentials_are_asked_for() -> None:
    assert "credentials" not in configuration(OPTIONS, PublishTokens(), AGENTS)


def test_node_with_a_token_of_its_own_has_a_job_of_its_own() -> None:
    jobs = _jobs(OPTIONS, PublishTokens(nodes={"n1": "t", "gone": "t"}), *AGENTS, EXPORTER)
    assert _secret(jobs["vigie-agent-n1"]) == "../credentials/nodes/n1"
    assert jobs["vigie-agent-n1"]["static_configs"] == [
        {"targets": ["10.0.0.1:9797"], "labels": {"instance": "n1", "job": "node"}}
    ]
    assert "vigie-agent-gone" not in jobs
    dropped = jobs["vigie-agents"]["relabel_configs"][1]
    assert dropped == {"source_labels": ["instance"], "regex": "n1", "action": "drop"}


def test_what_prometheus_scrapes_is_not_asked_of_the_server_too() -> None:
    asked = _jobs(OPTIONS, PublishTokens(), *AGENTS, EXPORTER)["vigie-federation"]["params"]["match[]"]
    assert asked == [
        '{job="dcgm-exporter", instance!~"n1"}',
        '{job="node", instance!~"n1|n2"}',
        '{job!~"dcgm-exporter|node|vigie", instance!=""}',
    ]
    assert "vigie-federation" not in _jobs(OPTIONS._replace(federate=0), PublishTokens(), *AGENTS)


@settings(max_examples=30)
@given(st.lists(st.tuples(NAMES, NAMES | st.text(min_size=1, max_size=10)), max_size=4))
def test_whatever_was_registered_gives_selectors_that_parse(pairs: list[tuple[str, str]]) -> None:
    entries = [ScrapeEntry(["h:1"], {"instance": instance, "job": job}) for instance, job in pairs]
    for selector in _jobs(OPTIONS, PublishTokens(), *entries)["vigie-federation"]["params"]["match[]"]:
        parse(selector)
    assert json.loads(targets(entries)) == [entry._asdict() for entry in entries]


def test_address_with_a_prefix_and_a_certificate_is_kept() -> None:
    options = OPTIONS._replace(address="https://head/vigie/", ca_file="/etc/ca.pem", discovery=FILE)
    jobs = _jobs(options)
    server = jobs["vigie"]
    assert (server["scheme"], server["metrics_path"]) == ("https", "/vigie/metrics")
    assert server["static_configs"][0]["targets"] == ["head:443"]
    assert server["tls_config"] == {"ca_file": "/etc/ca.pem"}
    assert jobs["vigie-agents"]["file_sd_configs"][0]["files"] == ["targets.json"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (OPTIONS._replace(root=Path("/srv/a$b")), "its name holds $"),
        (OPTIONS._replace(address="head:8000"), "--address 'head:8000' should be an address such as http"),
        (OPTIONS._replace(address="http://u:p@head:8000"), "--address should hold no password"),
        (OPTIONS._replace(grafana_listen="3000\n[x]"), "--grafana '3000\\n[x]' should be a host and a port"),
        (
            OPTIONS._replace(alertmanager="http://a:1"),
            "--alertmanager 'http://a:1' should be a host and a port",
        ),
        (OPTIONS._replace(prometheus="http://"), "--prometheus 'http://' should be an address"),
    ],
)
def test_what_the_files_cannot_say_is_refused(options: PublishOptions, why: str) -> None:
    with pytest.raises(InvalidOptionError, match=re.escape(why)):
        check_options(options)
