"""What a Prometheus reads: whom to scrape, what to show them, and the rules."""

from __future__ import annotations

import json
import re
import socket
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vigie.common.yaml_writer import write_yaml
from vigie.publishing.alert_rules import ALERTS, RECORDINGS
from vigie.publishing.options import HTTP, PublishOptions, PublishTokens, ScrapeEntry
from vigie.views.grafana.provisioning import NOTE

Json = dict[str, Any]
AGENT, ITSELF = "node", "vigie"  # the jobs of agents and of the server, as its own store calls them
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SECRETS = "../credentials"  # seen from prometheus.yml


def configuration(options: PublishOptions, tokens: PublishTokens, entries: Sequence[ScrapeEntry]) -> str:
    every = f"{options.interval:g}s"
    said: Json = {
        "global": {"scrape_interval": every, "evaluation_interval": every},
        "rule_files": ["rules/*.yml"],
    }
    if options.alertmanager:
        manager = {"static_configs": [{"targets": [options.alertmanager]}]}
        said["alerting"] = {"alertmanagers": [manager]}
    said["scrape_configs"] = list(_jobs(options, tokens, entries))
    return write_yaml(said, NOTE)


def targets(entries: Iterable[ScrapeEntry]) -> str:
    """Return the file for file_sd_configs."""
    return json.dumps([entry._asdict() for entry in entries], indent=1) + "\n"


def alerts() -> str:
    rules = [
        {
            "alert": alert.name,
            "expr": alert.promql,
            "for": alert.hold,
            "labels": {"severity": alert.severity},
            "annotations": {"summary": alert.summary, "description": alert.action},
        }
        for alert in ALERTS
    ]
    return write_yaml({"groups": [{"name": "vigie", "rules": rules}]}, NOTE)


def recordings() -> str:
    rules = [{"record": rule.name, "expr": rule.promql} for rule in RECORDINGS]
    return write_yaml({"groups": [{"name": "vigie-recordings", "interval": "1m", "rules": rules}]}, NOTE)


def _jobs(options: PublishOptions, tokens: PublishTokens, entries: Sequence[ScrapeEntry]) -> Iterator[Json]:
    """Yield the jobs: only agents are shown the agents' token, whoever else was registered."""
    found = _discovery_job(options, tokens)
    apart = [entry for entry in entries if entry.is_agent and entry.labels["instance"] in tokens.nodes]
    shared: list[Json] = [_by_job("keep")]
    if apart:
        names = _any_of(entry.labels["instance"] for entry in apart)
        shared.append({"source_labels": ["instance"], "regex": names, "action": "drop"})
    yield {"job_name": "vigie-agents", **_authorization("agents" if tokens.agents else ""), **found} | {
        "relabel_configs": shared
    }
    for entry in apart:
        node = entry.labels["instance"]
        static = {"targets": list(entry.targets), "labels": dict(entry.labels)}
        yield {
            "job_name": f"vigie-agent-{node}",
            **_authorization(f"nodes/{node}"),
            "static_configs": [static],
        }
    yield {"job_name": "vigie-exporters", **found, "relabel_configs": [_by_job("drop")]}
    yield _of_server(ITSELF, "/metrics", options, tokens)
    if options.federate:
        federation = _of_server("vigie-federation", "/federate", options, tokens)
        yield federation | {"honor_labels": True, "params": {"match[]": list(_portless_selectors(entries))}}


def _discovery_job(options: PublishOptions, tokens: PublishTokens) -> Json:
    if options.discovery != HTTP:
        return {"file_sd_configs": [{"files": ["targets.json"], "refresh_interval": "30s"}]}
    asked: Json = {"url": f"{options.address.rstrip('/')}/sd/prometheus", "refresh_interval": "30s"}
    return {"http_sd_configs": [asked | _to_server(options, tokens)]}


def _of_server(name: str, path: str, options: PublishOptions, tokens: PublishTokens) -> Json:
    server = options.server
    port = server.port or (443 if server.scheme == "https" else 80)
    host = server.hostname or ""
    node = socket.gethostname() if host in LOOPBACK else host
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return {
        "job_name": name,
        "scheme": server.scheme,
        "metrics_path": f"{server.path}{path}",
        **_to_server(options, tokens),
        "static_configs": [{"targets": [address], "labels": {"instance": node}}],
    }


def _to_server(options: PublishOptions, tokens: PublishTokens) -> Json:
    said = _authorization("server" if tokens.server else "")
    return said | ({"tls_config": {"ca_file": options.ca_file}} if options.ca_file else {})


def _authorization(secret: str) -> Json:
    # Prometheus 2.42 forgets the usual type when it asks for targets, and shows the bare token.
    return {"authorization": {"type": "Bearer", "credentials_file": f"{SECRETS}/{secret}"}} if secret else {}


def _by_job(action: str) -> Json:
    return {"source_labels": ["job"], "regex": AGENT, "action": action}


def _portless_selectors(entries: Iterable[ScrapeEntry]) -> Iterator[str]:
    """Yield selectors of what the server has from nodes that have no port for a Prometheus."""
    scraped: defaultdict[str, set[str]] = defaultdict(set)
    scraped[AGENT], scraped[ITSELF] = set(), set()
    for entry in entries:
        scraped[entry.labels.get("job", "")].add(entry.labels.get("instance", ""))
    for job, names in sorted(scraped.items()):
        if job in ("", ITSELF):
            continue
        but = f", instance!~{_text(_any_of(names))}" if names else ""
        yield f"{{job={_text(job)}{but}}}"
    yield f'{{job!~{_text(_any_of(scraped))}, instance!=""}}'


def _any_of(names: Iterable[str]) -> str:
    return "|".join(re.escape(name).replace(r"\-", "-") for name in sorted(set(names)))


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
