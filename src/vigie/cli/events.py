"""List or follow events: unreachable nodes, clock skew, failing hardware; the newest last."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from vigie.cli import _argument_types, _list_output, _server_client
from vigie.cli.settings import flags
from vigie.views.text import output
from vigie.views.text.events import lines
from vigie.wire.api.resources import EventList, EventRow

EXAMPLE = """examples:
  vigie events                                    the last 50
  vigie events --since 1d --severity critical
  vigie events --node n17 --follow                and what happens from now on"""
ERRORS = (*flags.ERRORS, _server_client.ServerRequestError, ValueError)
EVERY_SECONDS = 2.0
MAX_EVENTS = 1000  # in one answer
SEVERITIES = ("info", "warning", "critical")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--node", default="", help="only of this node")
    parser.add_argument("--kind", default="", help="only of this kind, such as node_lost")
    parser.add_argument("--severity", default="", choices=SEVERITIES, help="only of this severity")
    parser.add_argument(
        "--since",
        type=_argument_types.length,
        metavar="DURATION",
        help="only the last 1h or so",
    )
    parser.add_argument("--follow", action="store_true", help="follow new events until interrupted")
    _list_output.add_arguments(parser, limit=50, most=MAX_EVENTS)


def run(arguments: argparse.Namespace) -> int:
    """Print events, and with --follow new ones."""
    filters = {name: getattr(arguments, name) for name in ("node", "kind", "severity")}
    filters = {name: value for name, value in filters.items() if value}
    since: dict[str, Any] = {}
    if arguments.since:
        since["since"] = time.time() - arguments.since / 1000
    answer = _fetch(arguments, {**filters, **since, "limit": arguments.limit})
    _show(answer.events[::-1], arguments.json)
    if not answer.events and not arguments.json:
        print("No matching events.")
    if arguments.follow:
        _follow(arguments, filters, answer.last)
    return 0


def _follow(arguments: argparse.Namespace, filters: Mapping[str, Any], last: int) -> None:
    """Print new events; a server that is unreachable is reported once, and tried again."""
    away = False
    while True:
        time.sleep(EVERY_SECONDS)
        try:
            answer = _fetch(arguments, {**filters, "after": last, "limit": MAX_EVENTS})
        except _server_client.ServerUnreachableError as error:
            if not away:
                print(f"vigie events: {error}", file=sys.stderr)
            away = True
            continue
        away, last = False, answer.last
        _show(answer.events, arguments.json)


def _fetch(arguments: argparse.Namespace, parameters: Mapping[str, Any]) -> EventList:
    body = _server_client.request(arguments, "GET", f"api/events?{urlencode(parameters)}")
    return _server_client.decode(body, EventList)


def _show(events: Sequence[EventRow], as_json: bool) -> None:
    if as_json:
        _list_output.print_json_lines(events)
    else:
        output.show(lines(events, output.columns(sys.stdout), output.colourful(sys.stdout)))
