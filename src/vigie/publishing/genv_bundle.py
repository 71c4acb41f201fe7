"""The files that genv's monitor publishes, at its paths: for a Prometheus and a Grafana on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from vigie.common.token_file import read_token
from vigie.common.yaml_writer import write_yaml
from vigie.dashboards import overview
from vigie.publishing.managed_directory import ManagedFile, WriteOutcome, write_files
from vigie.publishing.options import InvalidOptionError, PublishOptions, check_options
from vigie.views.grafana import provisioning
from vigie.views.grafana.dashboards import build_dashboard

SCRAPE_SECONDS = 15.0
HOME = overview.DASHBOARD.slug
ADMIN = "credentials/grafana-admin"


def publish_genv(root: Path, port: int) -> WriteOutcome:
    """Write the five files for an exporter on a port, or raise InvalidOptionError or OSError."""
    options = PublishOptions(root, f"http://127.0.0.1:{port}")
    check_options(options)
    if root.exists() and root.stat().st_uid not in (0, os.geteuid()):
        raise InvalidOptionError(f"{root} belongs to another user: use --config-dir")
    outcome = write_files(root, _files(options, port))
    read_token(root / ADMIN)
    return outcome


def _files(options: PublishOptions, port: int) -> Iterator[ManagedFile]:
    root, source = str(options.root), provisioning.OF_PROMETHEUS
    yield ManagedFile("prometheus/prometheus.yml", _prometheus(port))
    yield ManagedFile(
        "grafana/grafana.ini", provisioning.settings(root, HOME, options.grafana_listen, anonymous=True)
    )
    sources = provisioning.DataSource(source, options.prometheus, SCRAPE_SECONDS, first=True)
    yield ManagedFile("grafana/provisioning/datasources/default.yml", provisioning.data_sources(sources))
    yield ManagedFile("grafana/provisioning/dashboards/default.yml", provisioning.providers(root))
    board = build_dashboard(overview.DASHBOARD, source)
    yield ManagedFile(f"grafana/dashboards/{HOME}.json", json.dumps(board, indent=1) + "\n")


def _prometheus(port: int) -> str:
    every = f"{SCRAPE_SECONDS:g}s"
    job = {"job_name": "genv", "static_configs": [{"targets": [f"localhost:{port}"]}]}
    content = {"global": {"scrape_interval": every, "evaluation_interval": every}, "scrape_configs": [job]}
    return write_yaml(content, "Written by vigie monitor.")
