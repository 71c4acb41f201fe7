"""Write Prometheus and Grafana files: configuration, rules, dashboards, a compose file."""

from __future__ import annotations

import argparse
import json
import signal
import threading
from functools import partial
from pathlib import Path

from vigie.cli import _publish_options, _server_client
from vigie.cli.settings import flags
from vigie.common import logs
from vigie.publishing.managed_directory import WriteOutcome
from vigie.publishing.publisher import ERRORS as TROUBLES

EXAMPLE = """examples:
  vigie publish /srv/monitoring                        once; then: cd /srv/monitoring && docker compose up -d
  vigie publish /srv/monitoring --watch --reload       keep it fresh, and have Prometheus read it again
  vigie publish DIR --scrape-tokens /root/scrape-token for agents that listen beyond loopback
  vigie up --publish DIR                               a server, an agent, and this"""
NEXT = """start both:         docker compose -f {root}/compose.yml up -d
Grafana:            http://{grafana}, as admin
admin's password:   cat {root}/credentials/grafana-admin"""
ERRORS = (*flags.ERRORS, *TROUBLES)
WATCH_SECONDS, STOP_SECONDS = 10.0, 3.0
STOPS = (signal.SIGINT, signal.SIGTERM)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="target directory, created if missing")
    _publish_options.add_arguments(parser)
    parser.add_argument("--watch", action="store_true", help="repeat every 10 s until interrupted")
    parser.add_argument("--reload", action="store_true", help="reload Prometheus after changes")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    logs.configure("warning", "text")
    arguments.server = _server_client.place(arguments).url
    publisher = _publish_options.build_publisher(arguments, _data(arguments))
    tell = partial(_tell, arguments.directory, arguments.json)
    if not arguments.watch:
        outcome = publisher.once()
        tell(outcome)
        if not arguments.json and not any(outcome):
            print(f"{arguments.directory}: up to date")
        if not arguments.json and outcome.written:
            print(NEXT.format(root=arguments.directory, grafana=arguments.grafana))
        return 1 if outcome.foreign else 0
    stop = threading.Event()
    watching = threading.Thread(target=publisher.watch, args=(stop, WATCH_SECONDS, tell), daemon=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    watching.start()
    signal.sigwait(STOPS)
    stop.set()
    watching.join(STOP_SECONDS)  # a server that is slow to answer keeps nobody; no file is half written
    return 0


def _data(arguments: argparse.Namespace) -> Path | None:
    """Return the data directory of a local server."""
    if not _server_client.is_here(arguments.server):
        return Path(arguments.data) if arguments.data else None
    data: Path = arguments.data or flags.default_data()
    try:
        return None if _server_client.is_held_by_another(arguments.server, data / "server-token") else data
    except OSError:  # no token is there, or it is not ours to read
        return data


def _tell(root: Path, as_json: bool, outcome: WriteOutcome) -> None:
    if as_json:
        print(json.dumps(outcome._asdict()), flush=True)
        return
    for word, paths in (("wrote", outcome.written), ("removed", outcome.removed)):
        for path in paths:
            print(f"{word} {root / path}", flush=True)
