"""The flags of publishing, and what they mean."""

from __future__ import annotations

import argparse
from pathlib import Path

from vigie.cli import _argument_types, _server_client
from vigie.common.endpoint import TlsOptions
from vigie.publishing.options import FILE, HTTP, PROMETHEUS, SERVER, PublishOptions
from vigie.publishing.publisher import Publisher, PublishTarget


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is published, and for whom."""
    defaults = PublishOptions(Path(), "")
    parser.add_argument(
        "--server",
        metavar="URL",
        default=_server_client.DEFAULT,
        help="whose nodes they watch (default: %(default)s)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="the server's data directory, if it is here and not the usual one",
    )
    parser.add_argument("--address", metavar="URL", help="where they find the server (default: as --server)")
    parser.add_argument(
        "--prometheus", metavar="URL", default=defaults.prometheus, help="its address (default: %(default)s)"
    )
    parser.add_argument(
        "--grafana", metavar="ADDRESS", default=defaults.grafana_listen, help="where it listens (%(default)s)"
    )
    parser.add_argument("--alertmanager", metavar="HOST:PORT", default="", help="where alerts are sent")
    parser.add_argument(
        "--data-source",
        choices=(SERVER, PROMETHEUS),
        default=SERVER,
        help="whom the dashboards ask first (default: %(default)s)",
    )
    parser.add_argument(
        "--discovery",
        choices=(HTTP, FILE),
        default=HTTP,
        help="Prometheus asks the server for targets, or reads targets.json (default: %(default)s)",
    )
    parser.add_argument(
        "--federate",
        type=int,
        metavar="N",
        default=defaults.federate,
        help="nodes without a port, at most, of which the server gives the samples (default: %(default)s)",
    )
    parser.add_argument(
        "--anonymous-viewer", action="store_true", help="let everybody look at Grafana without an account"
    )
    parser.add_argument(
        "--scrape-tokens",
        type=Path,
        metavar="PATH",
        help="a file with the token that all agents ask for, or a directory with a file for each node",
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="a viewer's token that the server is shown"
    )
    parser.add_argument("--ca-file", type=Path, metavar="FILE", help="who signed the server's certificate")
    parser.add_argument(
        "--interval",
        type=_argument_types.seconds,
        default=15.0,
        metavar="SECONDS",
        help="between scrapes (default: 15)",
    )
    parser.add_argument("--overwrite", action="store_true", help="also what others have changed there")


def publisher(arguments: argparse.Namespace, data: Path | None) -> Publisher:
    """Return what publishes as the flags say; `data` is the server's directory, if it is here."""
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
    )
    whom = PublishTarget(
        arguments.server, data, arguments.token_file, arguments.scrape_tokens, TlsOptions(ca_file=ca_file)
    )
    return Publisher(options, whom, arguments.overwrite, arguments.reload)
