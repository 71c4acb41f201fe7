"""Flags of publishing."""

from __future__ import annotations

import argparse
from pathlib import Path

from vigie.cli import _argument_types, _server_client
from vigie.common.endpoint import TlsOptions
from vigie.dashboards import all_dashboards
from vigie.publishing.options import FILE, HTTP, PROMETHEUS, SERVER, PublishOptions
from vigie.publishing.publisher import Publisher, PublishTarget


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    defaults = PublishOptions(Path(), "")
    parser.add_argument(
        "--server",
        metavar="URL",
        default=_server_client.DEFAULT,
        help="server URL (default: %(default)s)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="data directory of the server, if it is on this machine",
    )
    parser.add_argument(
        "--address", metavar="URL", help="server URL for Prometheus and Grafana (default: as --server)"
    )
    parser.add_argument(
        "--prometheus",
        metavar="URL",
        default=defaults.prometheus,
        help="URL of Prometheus (default: %(default)s)",
    )
    parser.add_argument(
        "--grafana",
        metavar="ADDRESS",
        default=defaults.grafana_listen,
        help="listen address of Grafana (default: %(default)s)",
    )
    parser.add_argument("--alertmanager", metavar="HOST:PORT", default="", help="address of Alertmanager")
    parser.add_argument(
        "--data-source",
        choices=(SERVER, PROMETHEUS),
        default=SERVER,
        help="default data source (default: %(default)s)",
    )
    parser.add_argument(
        "--discovery",
        choices=(HTTP, FILE),
        default=HTTP,
        help="target discovery of Prometheus: via HTTP, or the file targets.json (default: %(default)s)",
    )
    parser.add_argument(
        "--federate",
        type=int,
        metavar="N",
        default=defaults.federate,
        help="federate up to N nodes that cannot be scraped (default: %(default)s)",
    )
    parser.add_argument("--anonymous-viewer", action="store_true", help="allow anonymous viewers in Grafana")
    parser.add_argument(
        "--scrape-tokens",
        type=Path,
        metavar="PATH",
        help="file with the scrape token of all agents, or directory with a file per node",
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="file with a viewer token for the server"
    )
    parser.add_argument("--ca-file", type=Path, metavar="FILE", help="CA file")
    parser.add_argument(
        "--interval",
        type=_argument_types.seconds,
        default=15.0,
        metavar="SECONDS",
        help="scrape interval (default: 15)",
    )
    parser.add_argument(
        "--home",
        choices=[board.slug for board in all_dashboards() if board.listed],
        default=defaults.home,
        metavar="DASHBOARD",
        help="dashboard that Grafana opens with, such as overview for genv (default: %(default)s)",
    )
    parser.add_argument("--overwrite", action="store_true", help="overwrite changed files")


def build_publisher(arguments: argparse.Namespace, data: Path | None) -> Publisher:
    """Return the publisher; `data` is the server's directory, if it is on this machine."""
    ca_file = str(arguments.ca_file.resolve()) if arguments.ca_file else ""
    options = PublishOptions(
        arguments.directory.resolve(),
        arguments.address or arguments.server,
        arguments.prometheus,
        arguments.grafana,
        arguments.alertmanager,
        arguments.data_source,
        arguments.discovery,
        max(0, arguments.federate),
        arguments.anonymous_viewer,
        arguments.interval,
        ca_file,
        arguments.home,
    )
    whom = PublishTarget(
        arguments.server, data, arguments.token_file, arguments.scrape_tokens, TlsOptions(ca_file=ca_file)
    )
    return Publisher(options, whom, arguments.overwrite, arguments.reload)
